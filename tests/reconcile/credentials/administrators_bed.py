"""A region whose Keystone and broker set the passwords of their administrators, as charts do."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import yaml

from controller.domain.credentials.rotation.accounts import Server
from controller.domain.values.chart_values import secret_ref
from controller.ports.kubernetes import SECRET
from tests.reconcile.credentials.rotation_bed import CATALOGUE, CHARTS, NS, RotationBed, values_of

IDENTITY, MESSAGING = "identity-credentials", "messaging-credentials"
WHERE = {"identity": Server.KEYSTONE, "messaging": Server.BROKER}


class AdministratorsBed(RotationBed):
    """The release of images stands for Octavia, too: its pods work as Keystone's administrator. `refused`
    counts the seconds for which they were refused, and `jobs` what Jobs were."""

    charts: Mapping[str, str] = {"identity": "keystone", "messaging": "rabbitmq", **CHARTS}
    services = tuple(charts)
    catalogue: Mapping[str, Mapping[str, str]] = {
        **CATALOGUE,
        "identity": {"admin-password": "password", "database-password": "password"},
    }

    def prepare(self) -> None:
        self.pod_of_octavia = ""
        self.jobs = 0

    def values(self, service: str) -> dict[str, Any]:
        admin = {"password": secret_ref(IDENTITY, "admin-password")}
        broker = {"password": secret_ref(MESSAGING, "admin-password")}
        if service == "messaging":
            return {"endpoints": {"oslo_messaging": {"auth": {"user": broker}}}}
        if service == "identity":
            root = {"password": secret_ref("database-credentials", "root-password")}
            own = {
                "username": secret_ref(IDENTITY, "account-suffix", "keystone"),
                "password": secret_ref(IDENTITY, "database-password"),
            }
            database = {"auth": {"admin": root, "keystone": own}}
            return {"endpoints": {"identity": {"auth": {"admin": admin}}, "oslo_db": database}}
        return values_of(service)

    def upgrade(self, service: str) -> None:
        """A release whose Jobs are refused is not upgraded."""
        self.upgrade_to(service, self.resolved(service))

    def upgrade_to(self, service: str, values: Mapping[str, Any]) -> None:
        if service in CHARTS and not self.lets_in(values):
            self.jobs += 1
            return
        chart = self.charts[service]
        self.run_jobs(chart, values)
        self._record(chart, values)
        self._deployment(chart, replaced=False)

    def lets_in(self, values: Mapping[str, Any]) -> bool:
        """Whether Keystone and the broker let in Jobs with these values."""
        endpoints = values["endpoints"]
        given = {
            Server.KEYSTONE: endpoints["identity"]["auth"]["admin"]["password"],
            Server.BROKER: endpoints["oslo_messaging"]["auth"]["admin"]["password"],
        }
        return given == self.servers.administrators

    def run_jobs(self, chart: str, values: Mapping[str, Any]) -> None:
        super().run_jobs(chart, values)
        if chart == "keystone":
            password = values["endpoints"]["identity"]["auth"]["admin"]["password"]
            self.servers.administrators[Server.KEYSTONE] = password

    def run_pods(self, chart: str, values: Mapping[str, Any]) -> None:
        super().run_pods(chart, values)
        if chart == "rabbitmq":
            password = values["endpoints"]["oslo_messaging"]["auth"]["user"]["password"]
            self.servers.administrators[Server.BROKER] = password
        if chart == "glance":
            self.pod_of_octavia = values["endpoints"]["identity"]["auth"]["admin"]["password"]

    # -- what is

    @property
    def octavia_is_refused(self) -> bool:
        return self.pod_of_octavia != self.servers.administrators[Server.KEYSTONE]

    @property
    def own_containers_are_refused(self) -> bool:
        """By what they read."""
        secret = self.kube.get(SECRET, "openstack-clouds", NS)
        assert secret is not None
        clouds = yaml.safe_load(base64.b64decode(secret["data"]["clouds.yaml"]))
        return bool(
            clouds["clouds"]["default"]["auth"]["password"] != self.servers.administrators[Server.KEYSTONE]
        )

    def assert_one_generation(self) -> None:
        """Servers, Secrets, releases and pods have the same, and nothing is left of a rotation."""
        for service, server in WHERE.items():
            texts = self.texts(f"{service}-credentials")
            assert self.servers.administrators[server] == texts["admin-password"], service
            assert "admin-password-next" not in texts
            assert self.rotation(service) == {}, self.rotation(service)
        assert self.servers.never_locked == set()
        assert not self.octavia_is_refused
        assert not self.own_containers_are_refused
        assert self.failures() == []
        for service in self.services:
            assert self.resolved(service) == self.deployed(service)
