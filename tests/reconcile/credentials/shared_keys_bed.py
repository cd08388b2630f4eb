"""A region whose pods share secrets: a key of memcached, Nova's and Neutron's for metadata, and the pair by
which computes reach each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.credentials.generate import (
    SSH_PRIVATE_KEY,
    SSH_PUBLIC_KEY,
    CredentialUnusable,
    public_key_of,
)
from controller.domain.values.chart_values import secret_ref
from tests.reconcile.credentials.rotation_bed import ACCOUNTS, CATALOGUE, CHARTS, RotationBed, values_of

HOSTS = 3
NETWORKING = {key.replace("nova", "neutron"): kind for key, kind in ACCOUNTS.items()}


@dataclass(frozen=True)
class Host:
    """A compute as its last pod has it."""

    private: str
    authorized: frozenset[str]

    @property
    def public(self) -> str:
        try:
            return public_key_of(self.private)
        except CredentialUnusable:
            return ""


class SharedKeysBed(RotationBed):
    """Hosts are replaced one by one. `refused` counts moves that failed, of all that are tried after each."""

    charts: Mapping[str, str] = {**CHARTS, "networking": "neutron"}
    services = tuple(charts)
    catalogue: Mapping[str, Mapping[str, str]] = {
        **CATALOGUE,
        "cache": {"memcache-secret-key": "hex32"},
        "compute": {
            **CATALOGUE["compute"],
            "ssh-private-key": SSH_PRIVATE_KEY,
            "ssh-public-key": SSH_PUBLIC_KEY,
        },
        "networking": {**NETWORKING, "metadata-secret": "hex32"},
    }

    def prepare(self) -> None:
        self.hosts: list[Host] = []
        self.moves, self.refused = 0, 0
        self.metadata: dict[str, str] = {}
        self.differing = 0

    def values(self, service: str) -> dict[str, Any]:
        values = (
            renamed(values_of("compute"), {"nova": "neutron", "compute": "networking"})
            if service == "networking"
            else values_of(service)
        )
        values["endpoints"]["oslo_cache"] = {
            "auth": {"memcache_secret_key": secret_ref("cache-credentials", "memcache-secret-key")}
        }
        if service != "image":
            values.setdefault("conf", {})["metadata"] = secret_ref(
                "networking-credentials", "metadata-secret"
            )
        if service == "compute":
            own = "compute-credentials"
            keys = {name: secret_ref(own, f"ssh-{name.replace('_', '-')}") for name in _PAIR}
            values["network"] = {"ssh": {"enabled": True, **keys}}
        return values

    def run_pods(self, chart: str, values: Mapping[str, Any]) -> None:
        super().run_pods(chart, values)
        if chart == "glance":
            return
        if chart == "nova":
            for number in range(HOSTS):
                self.replace_host(number, values)
        self.metadata[chart] = values["conf"]["metadata"]
        self.differing += len(set(self.metadata.values())) > 1

    def replace_host(self, number: int, values: Mapping[str, Any] | None = None) -> None:
        """It is of the last revision; then a server is moved from each host to each other one."""
        keys = (values or self.deployed("compute"))["network"]["ssh"]
        host = Host(keys["private_key"], frozenset(keys["public_key"].splitlines()))
        self.hosts = [*self.hosts[:number], host, *self.hosts[number + 1 :]]
        self.move_servers()

    def move_servers(self) -> None:
        for one in self.hosts:
            for other in self.hosts:
                self.moves += 1
                self.refused += one.public not in other.authorized


_PAIR = ("private_key", "public_key")


def renamed(values: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """What Nova's release has of accounts, of another service."""

    def of(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {of(key): of(part) for key, part in value.items()}
        if isinstance(value, str):
            for word, other in words.items():
                value = value.replace(word, other)
        return value

    made = {"endpoints": dict(of(values["endpoints"]))}
    made["endpoints"].pop("oslo_db_cell0")
    made["endpoints"]["identity"]["auth"].pop("test")
    return made
