"""A region whose releases are upgraded, and whose pods are replaced, when a test says so.

It knows the truth: which accounts each server has, and with which name and password each pod works.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from controller.adapters.helm.records.record_secrets import RECORD_TYPE
from controller.adapters.helm.records.record_texts import encode_record
from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.api.names import REVISION_LABEL
from controller.domain.credentials.rotation.accounts import Account, Server
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.chart_values import secret_ref
from controller.domain.values.secret_refs import resolve
from controller.errors import PasswordRefused, RightRefused, SecretMissing, ServerUnavailable
from controller.ports.accounts import RegionAccounts, ServerLogin, WrappedKeys
from controller.ports.kubernetes import DEPLOYMENT, HELMBUNDLE, OSDPL, SECRET, KubeObject
from controller.reconcile.credentials.region_pass import RegionNeeds, SecretsPorts
from controller.reconcile.credentials.secrets import SecretsReconciler
from controller.reconcile.credentials.step_list import credential_steps
from controller.reconcile.shared.secret_values import SecretValues
from tests.fakes.kube import FakeKube
from tests.fakes.option_files import option_files
from tests.fakes.world import FakeClock, FakeRandomness
from tests.reconcile.credentials.test_secrets import Recorder

NS, REGION = "openstack", "region-one"
ROTATE = "osctl.dev/rotate-requested-at"
ACCOUNTS = {"nova-password": "password", "database-password": "password", "messaging-password": "password"}
CATALOGUE = {
    "database": {"root-password": "password"},
    "messaging": {"admin-password": "password"},
    "identity": {"admin-password": "password"},
    "image": {key.replace("nova", "glance"): kind for key, kind in ACCOUNTS.items()},
    "compute": {**ACCOUNTS, "test-password": "password", "ceph-secret-uuid": "uuid"},
}
CHARTS = {"image": "glance", "compute": "nova"}
SERVERS = {
    "oslo_db": Server.DATABASE,
    "oslo_db_cell0": Server.DATABASE,
    "oslo_messaging": Server.BROKER,
    "identity": Server.KEYSTONE,
}

Login = tuple[Server, str, str]


def values_of(service: str) -> dict[str, Any]:
    """As the template of every release has them."""
    chart, own = CHARTS[service], f"{service}-credentials"

    def account(key: str, prefix: str = chart) -> dict[str, Any]:
        return {"username": secret_ref(own, "account-suffix", prefix), "password": secret_ref(own, key)}

    root = {"password": secret_ref("database-credentials", "root-password")}
    broker = {"password": secret_ref("messaging-credentials", "admin-password")}
    admin = {"password": secret_ref("identity-credentials", "admin-password")}
    database = {"auth": {"admin": root, chart: account("database-password")}}
    users: dict[str, Any] = {"admin": admin, chart: account(f"{chart}-password")}
    endpoints: dict[str, Any] = {
        "oslo_db": database,
        "oslo_messaging": {"auth": {"admin": broker, chart: account("messaging-password")}},
        "identity": {"auth": users},
    }
    values: dict[str, Any] = {"endpoints": endpoints}
    if service == "compute":
        users["test"] = {"password": secret_ref(own, "test-password")}
        endpoints["oslo_db_cell0"] = database
        values["conf"] = {"ceph": {"secret_uuid": secret_ref(own, "ceph-secret-uuid")}}
    return values


def record_secret(release: str, version: int, values: Mapping[str, Any]) -> KubeObject:
    """What Helm keeps of a deployed revision."""
    record = {
        "name": release,
        "version": version,
        "info": {"status": "deployed"},
        "config": values,
        "manifest": "",
    }
    labels = {"owner": "helm", "name": release, "version": str(version), "status": "deployed"}
    labels[REVISION_LABEL] = str(version)
    meta = {"name": f"sh.helm.release.v1.{release}.v{version}", "namespace": NS, "labels": labels}
    data = {"release": encode_record(record)}
    return {"apiVersion": "v1", "kind": "Secret", "type": RECORD_TYPE, "metadata": meta, "data": data}


def logins_of(values: Mapping[str, Any], chart: str) -> Iterator[Login]:
    """The accounts that a pod with these resolved values works with."""
    for name, server in SERVERS.items():
        account = values["endpoints"].get(name, {}).get("auth", {}).get(chart)
        if account:
            yield server, account["username"], account["password"]


class Servers:
    """`controller.ports.accounts.RegionAccounts`, and the accounts that there are."""

    def __init__(self) -> None:
        self.accounts: dict[tuple[Server, str], str] = {}
        self.pods: dict[str, frozenset[Login]] = {}
        self.others: dict[tuple[Server, str], int] = {}
        self.owned: dict[str, tuple[str, ...]] = {}
        self.passed_on: set[tuple[str, str]] = set()
        # What an account has that no other can be given.
        self.not_given: dict[str, str] = {}
        self.down: set[Server] = set()
        # What Barbican keeps: with which key each is wrapped.
        self.wrapped: list[str] = []
        # The passwords of administrators, as far as a test looks at them, and second ones; whose failed
        # logins do not count.
        self.administrators: dict[Server, str] = {}
        self.also: dict[Server, str] = {}
        # Those that take no other one.
        self.refusing: set[Server] = set()
        self.never_locked: set[Server | str] = set()
        # The passwords with which administrators were asked for, each time.
        self.logins: list[str] = []
        self.before_change = self.after_change = lambda: None

    def has(self, login: ServerLogin, account: Account) -> bool:
        self._answer(login)
        return (account.server, account.name) in self.accounts

    def belongings(self, login: ServerLogin, account: Account) -> tuple[str, ...]:
        self._answer(login)
        return self.owned.get(account.name, ())

    def sessions(self, login: ServerLogin, account: Account) -> int:
        self._answer(login)
        ours = sum((account.server, account.name) == one[:2] for pod in self.pods.values() for one in pod)
        return ours + self.others.get((account.server, account.name), 0)

    def copy_grants(self, login: ServerLogin, before: Account, after: Account) -> None:
        self._answer(login)
        self.before_change()
        if (after.server, after.name) in self.accounts:
            self.passed_on.add((before.name, after.name))
            if before.name in self.not_given:
                raise RightRefused(f"account {after.name} is not given: {self.not_given[before.name]}")
        self.after_change()

    def drop(self, login: ServerLogin, account: Account) -> None:
        self._answer(login)
        self.before_change()
        self.accounts.pop((account.server, account.name), None)
        self.after_change()

    def add_password(self, login: ServerLogin, password: str) -> None:
        server = login.place.server
        if self.administrators.get(server) == password and server not in self.down:
            return
        self._answer(login)
        if server in self.refusing:
            raise PasswordRefused("it refuses a password change")
        self.before_change()
        if server == Server.DATABASE:
            self.also[server] = login.password
        else:
            self.never_locked.add(server)
        self.administrators[server] = password
        self.after_change()

    def drop_other_passwords(self, login: ServerLogin) -> None:
        self._answer(login)
        server = login.place.server
        if server in self.never_locked or server in self.also:
            self.before_change()
            self.never_locked.discard(server)
            self.administrators[server] = login.password
            self.also.pop(server, None)
            self.after_change()

    def give_password(self, login: ServerLogin, account: Account, password: str) -> None:
        self._answer(login)
        place = (account.server, account.name)
        if place not in self.accounts or self.accounts[place] == password:
            return
        if account.server in self.refusing:
            raise PasswordRefused("it refuses a password change")
        self.before_change()
        self.accounts[place] = password
        self.never_locked.add(account.name)
        self.after_change()

    def restore_lockout(self, login: ServerLogin, account: Account) -> None:
        self._answer(login)
        if account.name in self.never_locked:
            self.before_change()
            self.never_locked.discard(account.name)
            self.after_change()

    def rewrap(self, login: ServerLogin, database: str, key: str, former: str) -> int:
        self._answer(login)
        assert database == "barbican"
        found = [number for number, one in enumerate(self.wrapped) if one == former != key]
        for number in found:
            self.before_change()
            self.wrapped[number] = key
            self.after_change()
        return len(found)

    def accepts(self, login: ServerLogin) -> bool:
        if login.place.server in self.down:
            raise ServerUnavailable(f"{login.place.shown} does not answer")
        self.logins.append(login.password)
        return self.lets_in(login.place.server, login.password)

    def has_password(self, login: ServerLogin, account: Account, password: str) -> bool:
        self._answer(login)
        return self.accounts.get((account.server, account.name)) == password

    def _answer(self, login: ServerLogin) -> None:
        assert login.password
        if login.place.server in self.down:
            raise ServerUnavailable(f"{login.place.shown} does not answer")
        if not self.lets_in(login.place.server, login.password):
            raise ServerUnavailable(f"{login.place.shown} refuses its administrator")

    def lets_in(self, server: Server, password: str) -> bool:
        """Its administrator."""
        return password in (self.administrators.get(server, password), self.also.get(server))


class RotationBed:
    """Everything is installed, and everything runs."""

    charts: Mapping[str, str] = CHARTS
    catalogue: Mapping[str, Mapping[str, str]] = CATALOGUE
    services: tuple[str, ...] = tuple(CHARTS)

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(self.clock)
        self.events = Recorder()
        self.servers = Servers()
        self.spec: dict[str, Any] = {}
        self._revisions: dict[str, int] = {}
        self._seeds = 0
        self.restart()
        self.prepare()
        meta = {"name": REGION, "namespace": NS}
        osdpl = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "metadata": meta, "spec": {}}
        self.kube.create(osdpl)
        self.reconcile()
        for service in self.services:
            self._install(service)
        self.reconcile()
        self.kube.forget_requests()

    def prepare(self) -> None:
        """What is there before the region is."""

    # -- what the controller does

    def restart(self) -> None:
        """A new process."""
        self._seeds += 1
        randomness = FakeRandomness(self._seeds)
        ports = SecretsPorts(
            kube=self.kube,
            clock=self.clock,
            randomness=randomness,
            events=self.events,
            records=SecretRecords(self.kube),
            digest_key=lambda: b"k" * 32,
            option_files=option_files(),
        )
        needs = RegionNeeds(
            tuple(
                CredentialSecret(f"{name}-credentials", name, kinds) for name, kinds in self.catalogue.items()
            )
        )
        steps = credential_steps(ports, accounts=self.account_servers(), wrapped=self.wrapped_keys())
        self.reconciler = SecretsReconciler(ports, lambda osdpl: needs, steps, resync=300.0)

    def account_servers(self) -> RegionAccounts:
        return self.servers

    def wrapped_keys(self) -> WrappedKeys:
        return self.servers

    def reconcile(self) -> float | None:
        return self.reconciler.reconcile((NS, REGION))

    def assert_rests(self) -> None:
        """Once a pass has done all, another one changes nothing."""
        self.reconcile()
        self.kube.forget_requests()
        self.reconcile()
        assert self.kube.changes == []

    # -- what others do

    def ask(self, service: str, when: str = "2026-11-22T12:00:00Z") -> None:
        patch = {"metadata": {"annotations": {ROTATE: when}}}
        self.kube.merge_patch(SECRET, f"{service}-credentials", NS, patch)

    def upgrade(self, service: str) -> None:
        """helmbundle upgrades the release: its Jobs make the accounts that are not there yet."""
        values = self.resolved(service)
        chart = self.charts[service]
        self.run_jobs(chart, values)
        self._record(chart, values)
        self._deployment(chart, replaced=False)

    def run_jobs(self, chart: str, values: Mapping[str, Any]) -> None:
        """They make accounts, and change none that is there."""
        for server, name, password in logins_of(values, chart):
            self.servers.accounts.setdefault((server, name), password)

    def replace_pods(self, service: str) -> None:
        """The pods of the release are those of its last revision."""
        chart = self.charts[service]
        self.run_pods(chart, self.deployed(service))
        self._deployment(chart, replaced=True)

    def run_pods(self, chart: str, values: Mapping[str, Any]) -> None:
        self.servers.pods[chart] = frozenset(logins_of(values, chart))

    def settle(self, passes: int = 12) -> None:
        """Everyone does what is theirs, some times."""
        for _ in range(passes):
            self.reconcile()
            for service in self.services:
                if self.resolvable(service) and self.resolved(service) != self.deployed(service):
                    self.upgrade(service)
                self.replace_pods(service)
            self.clock.advance(10)
            if self._is_quiet():
                break

    def _is_quiet(self) -> bool:
        rotating = {"osctl.dev/rotation", ROTATE}
        return all(rotating.isdisjoint(self.notes(one)) for one in self.catalogue) and all(
            self.resolvable(one) and self.resolved(one) == self.deployed(one) for one in self.services
        )

    def edit(self, service: str, change: Any) -> None:
        """The operator changes the values of a release."""
        bundle = self.kube.get(HELMBUNDLE, service, NS)
        assert bundle is not None
        change(bundle["spec"]["releases"][0]["values"])
        self.kube.replace(bundle)

    def edit_secret(self, name: str, texts: Mapping[str, str | None]) -> None:
        """Someone writes to it; what is None goes."""
        data = {key: text and base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        self.kube.merge_patch(SECRET, name, NS, {"data": data})

    def set_replicas(self, service: str, replicas: int) -> None:
        patch = {"spec": {"replicas": replicas}}
        self.kube.merge_patch(DEPLOYMENT, f"{self.charts[service]}-api", NS, patch)

    def set_mode(self, mode: str) -> None:
        self.set_spec({"mode": mode})

    def set_spec(self, spec: Mapping[str, Any]) -> None:
        osdpl = self.kube.get(OSDPL, REGION, NS)
        assert osdpl is not None
        self.kube.replace({**osdpl, "spec": spec})

    # -- what is

    def resolved(self, service: str) -> dict[str, Any]:
        bundle = self.kube.get(HELMBUNDLE, service, NS)
        assert bundle is not None
        values = bundle["spec"]["releases"][0]["values"]
        return dict(resolve(values, SecretValues(self.kube, NS).lookup, option_files()).values)

    def resolvable(self, service: str) -> bool:
        """Whether all that the release needs is there: helmbundle waits otherwise."""
        try:
            self.resolved(service)
        except SecretMissing:
            return False
        return True

    def texts(self, name: str) -> dict[str, str]:
        data = (self.kube.get(SECRET, name, NS) or {}).get("data", {})
        return {key: base64.b64decode(text).decode() for key, text in data.items()}

    def is_told(self, reason: str) -> bool:
        """Whether an Event has ever said so."""
        return reason in {told for _, told, _ in self.events.seen}

    def notes(self, service: str) -> dict[str, str]:
        secret = self.kube.get(SECRET, f"{service}-credentials", NS)
        assert secret is not None
        return dict(secret["metadata"].get("annotations") or {})

    def published(self, service: str) -> dict[str, Any]:
        """The entry of its Secret in the status."""
        osdpl = self.kube.get(OSDPL, REGION, NS)
        assert osdpl is not None
        return dict(osdpl["status"]["secrets"][f"{service}-credentials"])

    def rotation(self, service: str) -> dict[str, Any]:
        """As it is published."""
        return dict(self.published(service).get("rotation") or {})

    def names(self, prefix: str) -> set[tuple[Server, str]]:
        """The accounts that the servers have."""
        return {one for one in self.servers.accounts if one[1].startswith(prefix)}

    def failures(self) -> list[Login]:
        """Accounts with which pods work at this moment, and that their server refuses."""
        return [
            one
            for pod in self.servers.pods.values()
            for one in pod
            if self.servers.accounts.get(one[:2]) != one[2]
        ]

    # -- how it is set up

    def values(self, service: str) -> dict[str, Any]:
        return values_of(service)

    def _install(self, service: str) -> None:
        labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": service}
        chart = self.charts[service]
        release = {"name": chart, "chart": {"name": chart, "path": chart}, "values": self.values(service)}
        self.kube.create(
            {
                "apiVersion": HELMBUNDLE.api_version,
                "kind": HELMBUNDLE.kind,
                "metadata": {"name": service, "namespace": NS, "labels": labels},
                "spec": {"releases": [release]},
            }
        )
        marks = {"meta.helm.sh/release-name": chart, "meta.helm.sh/release-namespace": NS}
        meta = {"name": f"{chart}-api", "namespace": NS, "annotations": marks}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"replicas": 2}}
        self.kube.create(body)
        self.upgrade(service)
        self.replace_pods(service)

    def deployed(self, service: str) -> dict[str, Any]:
        chart = self.charts[service]
        return dict(SecretRecords(self.kube).given_values(chart, NS, self._revisions[chart]))

    def _record(self, chart: str, values: Mapping[str, Any]) -> None:
        before = self._revisions.get(chart, 0)
        if before:
            self.mark(chart, before, "superseded")
        version = self._revisions[chart] = before + 1
        self.kube.create(record_secret(chart, version, values))

    def mark(self, chart: str, version: int, status: str) -> None:
        """Helm says another word of a revision."""
        name = f"sh.helm.release.v1.{chart}.v{version}"
        self.kube.merge_patch(SECRET, name, NS, {"metadata": {"labels": {"status": status}}})

    def _deployment(self, chart: str, *, replaced: bool) -> KubeObject:
        live = self.kube.get(DEPLOYMENT, f"{chart}-api", NS)
        assert live is not None
        status = {
            "observedGeneration": live["metadata"]["generation"],
            "replicas": 2 if replaced else 3,
            "updatedReplicas": 2 if replaced else 1,
            "readyReplicas": 2,
            "availableReplicas": 2,
        }
        return self.kube.replace({**live, "status": status}, subresource="status")


class StorageBed(RotationBed):
    """With a service that shares its only password with a Ceph cluster."""

    catalogue: Mapping[str, Mapping[str, str]] = {
        **CATALOGUE,
        "object-storage": {"swift-password": "password"},
    }
