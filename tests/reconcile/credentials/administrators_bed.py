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

DATABASE, IDENTITY, MESSAGING = "database-credentials", "identity-credentials", "messaging-credentials"
# By service: the server, and the key with the password of its administrator.
WHERE = {
    "database": (Server.DATABASE, "root-password"),
    "identity": (Server.KEYSTONE, "admin-password"),
    "messaging": (Server.BROKER, "admin-password"),
}
ENDPOINTS = {"oslo_db": Server.DATABASE, "oslo_messaging": Server.BROKER}


class AdministratorsBed(RotationBed):
    """The release of images stands for Octavia, too: its pods work as Keystone's administrator. `jobs` counts
    Jobs that were refused. With `members_set_it`, pods of the database set root's password as they start, as
    those of OpenStack-Helm do."""

    charts: Mapping[str, str] = {
        "database": "mariadb",
        "messaging": "rabbitmq",
        "identity": "keystone",
        **CHARTS,
    }
    members_set_it = False
    services = tuple(charts)
    catalogue: Mapping[str, Mapping[str, str]] = {
        **CATALOGUE,
        "identity": {"admin-password": "password", "database-password": "password"},
    }

    def prepare(self) -> None:
        self.pod_of_octavia = self.pod_of_database = ""
        self.jobs = 0

    def values(self, service: str) -> dict[str, Any]:
        admin = {"password": secret_ref(IDENTITY, "admin-password")}
        broker = {"password": secret_ref(MESSAGING, "admin-password")}
        root = {"password": secret_ref(DATABASE, "root-password")}
        if service == "database":
            return {"endpoints": {"oslo_db": {"auth": {"admin": root}}}}
        if service == "messaging":
            return {"endpoints": {"oslo_messaging": {"auth": {"user": broker}}}}
        if service == "identity":
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
        if not self.lets_in(service, values):
            self.jobs += 1
            return
        chart = self.charts[service]
        self.run_jobs(chart, values)
        self._record(chart, values)
        self._deployment(chart, replaced=False)

    def lets_in(self, service: str, values: Mapping[str, Any]) -> bool:
        """Whether the servers admitted Jobs with these values; its own each release has upgraded by then."""
        for endpoint, server in (("identity", Server.KEYSTONE), *ENDPOINTS.items()):
            admin = values["endpoints"].get(endpoint, {}).get("auth", {}).get("admin")
            its_own = WHERE.get(service, (None, ""))[0] == server
            if admin and not its_own and not self.servers.lets_in(server, admin["password"]):
                return False
        return True

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
        if chart == "mariadb":
            password = values["endpoints"]["oslo_db"]["auth"]["admin"]["password"]
            self.pod_of_database = password
            known = self.servers.administrators.setdefault(Server.DATABASE, password)
            if self.members_set_it and (known != password or self.servers.also):
                self.servers.administrators[Server.DATABASE] = password
                self.servers.also.pop(Server.DATABASE, None)
        if chart == "glance":
            self.pod_of_octavia = values["endpoints"]["identity"]["auth"]["admin"]["password"]

    # -- what is

    @property
    def database_is_ill(self) -> bool:
        """Whether its pod is refused by its own server."""
        return not self.servers.lets_in(Server.DATABASE, self.pod_of_database)

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
        for service, (server, key) in WHERE.items():
            texts = self.texts(f"{service}-credentials")
            assert self.servers.administrators[server] == texts[key], service
            assert f"{key}-next" not in texts
            assert self.rotation(service) == {}, self.rotation(service)
        assert self.servers.never_locked == set()
        assert self.servers.also == {}
        assert not self.database_is_ill
        assert not self.octavia_is_refused
        assert not self.own_containers_are_refused
        assert self.failures() == []
        for service in self.services:
            assert self.resolved(service) == self.deployed(service)
