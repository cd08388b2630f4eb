"""A region with a Keystone on loopback, in which an account that may only read is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from controller.adapters.accounts.servers import RealAccountServers
from controller.domain.api.names import ROTATE_ANNOTATION
from controller.domain.credentials.rotation.accounts import Account
from controller.ports.accounts import ReaderFound, ServerLogin
from controller.ports.kubernetes import HELMBUNDLE, SECRET
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from controller.reconcile.credentials.region_pass import SecretsPorts
from controller.reconcile.credentials.step_list import credential_steps
from controller.reconcile.credentials.steps import Steps
from tests.fakes.keystone_users import ADMIN_PASSWORD, FakeKeystone, served
from tests.reconcile.credentials.test_secrets import NS, REGION, Bed

EXPORT, CREDENTIALS = "openstack-reader", "read-only-account-credentials"
READER = "osctl-reader"
MONITORING = "monitoring"
COPY = f"{MONITORING}/openstack"
# From the moment at which copies have the next account, until the one before ends, and a bit.
OVERLAP = 601.0


class WatchedReaders:
    """`controller.ports.accounts.ReaderAccounts`, of which a test sees each call, after it."""

    def __init__(self) -> None:
        self.real = RealAccountServers()
        self.step = lambda: None

    def ensure_reader(
        self, login: ServerLogin, account: Account, password: str, mark: str, *, project: bool
    ) -> ReaderFound:
        found = self.real.ensure_reader(login, account, password, mark, project=project)
        self.step()
        return found

    def drop_readers(
        self, login: ServerLogin, domain: str, prefix: str, mark: str, keep: Collection[str]
    ) -> tuple[str, ...]:
        found = self.real.drop_readers(login, domain, prefix, mark, keep)
        self.step()
        return found


class ReadersBed(Bed):
    """The region's Keystone runs, and knows its administrator."""

    def __init__(self, keystone: FakeKeystone, **spec: Any) -> None:
        self.keystone = keystone
        self.readers = WatchedReaders()
        features = {"readOnlyAccount": {"enabled": True}}
        super().__init__(**{"features": features, **spec})
        self.put_secret("identity-credentials", {"admin-password": ADMIN_PASSWORD, "database-password": "x"})
        self.put_bundle()
        self.kube.forget_requests()

    def steps(self, ports: SecretsPorts, sealing: SealingKey | None) -> Steps:
        return credential_steps(ports, readers=self.readers, sealing=sealing)

    def put_bundle(self, **identity: Any) -> None:
        """Keystone is asked for."""
        password = {"$secretRef": {"name": "identity-credentials", "key": "admin-password"}}
        whole = {
            "auth": {"admin": {"region_name": "RegionOne", "password": password}},
            "host_fqdn_override": {"default": "127.0.0.1"},
            "port": {"api": {"default": self.keystone.port, "internal": self.keystone.port}},
            **identity,
        }
        release = {
            "name": "keystone",
            "chart": {"name": "keystone"},
            "values": {"endpoints": {"identity": whole}},
        }
        labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": "identity"}
        meta = {"name": "identity", "namespace": NS, "labels": labels}
        body = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta}
        self.kube.create({**body, "spec": {"releases": [release]}})

    def passes(self, number: int = 3, seconds: float = 11.0) -> None:
        """So many, with so much time after each."""
        for _ in range(number):
            self.reconcile()
            self.clock.advance(seconds)

    def switch(self, *, on: bool = True, **more: Any) -> None:
        self.edit(features={"readOnlyAccount": {"enabled": on, **more}})

    def ask(self) -> None:
        """For a rotation."""
        patch = {"metadata": {"annotations": {ROTATE_ANNOTATION: "2026-11-22T12:00:00Z"}}}
        self.kube.merge_patch(SECRET, CREDENTIALS, NS, patch)

    def request(self) -> None:
        """Monitoring asks for it."""
        notes = {"osctl.dev/requested-from": f"{NS}/{EXPORT}"}
        meta = {"name": "openstack", "namespace": MONITORING, "labels": {"osctl.dev/shared": "request"}}
        meta["annotations"] = notes
        self.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})

    # -- what is

    def copied(self) -> dict[str, str]:
        found = self.kube.get(SECRET, "openstack", MONITORING)
        return dict((found or {}).get("data") or {})

    def exported(self) -> dict[str, str]:
        return dict((self.secret(EXPORT) or {}).get("data") or {})

    def clouds(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(self.texts(EXPORT)["clouds.yaml"])["clouds"]
        return found

    def login(self) -> tuple[str, str]:
        """The name and password that others get."""
        auth = self.clouds()["default"]["auth"]
        return auth["username"], auth["password"]

    def notes(self, name: str) -> dict[str, str]:
        return dict((self.secret(name) or {"metadata": {}})["metadata"].get("annotations") or {})

    def published(self, name: str) -> dict[str, Any]:
        return dict(self.region()["status"]["secrets"].get(name) or {})

    def assert_in_place(self, name: str = READER) -> None:
        """One account, with its roles, which others have, and nothing is left of another."""
        assert self.keystone.names() == [name]
        assert self.keystone.roles(name) == ["reader of system"]
        assert self.login()[0] == name and self.keystone.lets_in(*self.login())
        assert self.condition()["status"] == "True", self.condition()


@contextmanager
def readers_bed(**spec: Any) -> Iterator[ReadersBed]:
    with served(FakeKeystone()) as keystone:
        yield ReadersBed(keystone, **spec)
