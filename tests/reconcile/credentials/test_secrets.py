"""Credentials are made once, survive everything, and are never shown."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.api.conditions import find
from controller.domain.credentials.certificate_lifetimes import DAY
from controller.domain.values.catalogue import CertificateRequest, CredentialSecret
from controller.domain.values.ceph_needs import CephNeeds
from controller.errors import ApiUnavailable, Conflict, ObjectRefused, Problem, SpecInvalid
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, PVC, SECRET, KubeObject
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from controller.reconcile.credentials.region_pass import RegionNeeds, SecretsPorts, begin_pass
from controller.reconcile.credentials.secrets import SecretsReconciler
from controller.reconcile.credentials.step_list import credential_steps
from controller.reconcile.credentials.steps import SOON_SECONDS, Published, Step, Steps, run_steps
from controller.reconcile.shared.secret_values import SecretValues
from tests.fakes.kube import FakeKube, Request
from tests.fakes.option_files import option_files
from tests.fakes.world import FakeClock, FakeRandomness

NS, REGION = "openstack", "region-one"
RESYNC = 300.0
CATALOGUE = {
    "database": {"root-password": "password"},
    "identity": {"admin-password": "password", "database-password": "password"},
}
RELEASES = {"database": ("mariadb",), "identity": ("keystone",)}


class Recorder:
    """`controller.ports.kubernetes.Events` that keeps what it is reported."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    def emit(
        self, obj: Mapping[str, Any], *, type_: str, reason: str, message: str, logged: bool = False
    ) -> None:
        self.seen.append((type_, str(reason), message))


class Killed(BaseException):
    """The process ends here."""


def credentials_of(osdpl: Mapping[str, Any]) -> tuple[CredentialSecret, ...]:
    if osdpl["spec"].get("broken"):
        raise SpecInvalid([Problem("spec.preset", "no such preset")])
    own = osdpl["spec"].get("features", {}).get("credentials", {})
    secrets = []
    for service in osdpl["spec"].get("with", list(CATALOGUE)):
        kinds = {k: v for k, v in CATALOGUE[service].items() if k not in own.get(service, {})}
        if kinds:
            secrets.append(CredentialSecret(f"{service}-credentials", service, kinds, RELEASES[service]))
    return tuple(secrets)


class Bed:
    """One region on an API server in memory. `wanted`: the certificates that it asks for."""

    wanted: tuple[CertificateRequest, ...] = ()

    def __init__(self, **spec: Any) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(self.clock)
        self.events = Recorder()
        self.ceph: CephNeeds | None = None
        self.reconciler = self.restarted()
        self.create_region(**spec)

    def restarted(self, seed: int = 0) -> SecretsReconciler:
        """A new process: other randomness, nothing remembered."""
        ports = self.ports(seed)
        steps = self.steps(ports, self.sealing(seed))
        self.reconciler = SecretsReconciler(ports, self.needs_of, steps, resync=RESYNC)
        return self.reconciler

    def sealing(self, seed: int) -> SealingKey | None:
        """What seals the keys of the region's authority in this process."""
        return None

    def ports(self, seed: int, kube: Any = None) -> SecretsPorts:
        """Those of one process, which may have an API server of its own."""
        kube = kube or self.kube
        return SecretsPorts(
            kube=kube,
            clock=self.clock,
            randomness=FakeRandomness(seed),
            events=self.events,
            records=SecretRecords(kube),
            digest_key=lambda: b"k" * 32,
            option_files=option_files(),
        )

    def take(self, step: Step, kube: Any = None) -> Published:
        """One step alone, of another process."""
        ports, osdpl = self.ports(5, kube), self.region()
        work = replace(begin_pass(ports, osdpl), needs=self.needs_of(osdpl))
        work.store.observe(())
        return run_steps(credential_steps(ports), work, (step,))

    def steps(self, ports: SecretsPorts, sealing: SealingKey | None) -> Steps:
        """What a pass of this process does."""
        return credential_steps(ports, sealing=sealing)

    def needs_of(self, osdpl: Mapping[str, Any]) -> RegionNeeds:
        return RegionNeeds(self.credentials_of(osdpl), self.wanted, self.ceph_of(osdpl))

    def days(self, days: float) -> None:
        """So much later, a pass."""
        self.clock.advance(days * DAY)
        self.reconcile()

    def text(self, name: str, key: str) -> str:
        """What a Secret has under the key; empty where it has none."""
        return self.texts(name).get(key, "")

    def credentials_of(self, osdpl: Mapping[str, Any]) -> tuple[CredentialSecret, ...]:
        return credentials_of(osdpl)

    def ceph_of(self, osdpl: Mapping[str, Any]) -> CephNeeds | None:
        return self.ceph

    def create_region(self, **spec: Any) -> None:
        meta = {"name": REGION, "namespace": NS}
        self.kube.create(
            {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "metadata": meta, "spec": spec}
        )
        self.kube.forget_requests()

    def edit(self, **spec: Any) -> None:
        osdpl = self.region()
        self.kube.replace({**osdpl, "spec": {**osdpl["spec"], **spec}})

    def reconcile(self) -> float | None:
        return self.reconciler.reconcile((NS, REGION))

    def region(self) -> KubeObject:
        found = self.kube.get(OSDPL, REGION, NS)
        assert found
        return found

    def condition(self) -> Mapping[str, Any]:
        return find(self.region().get("status", {}).get("conditions", []), "SecretsExchanged")

    def secret(self, name: str) -> KubeObject | None:
        return self.kube.get(SECRET, name, NS)

    def texts(self, name: str) -> dict[str, str]:
        data = (self.secret(name) or {}).get("data", {})
        return {key: base64.b64decode(text).decode() for key, text in data.items()}

    def all_texts(self) -> dict[str, dict[str, str]]:
        return {s["metadata"]["name"]: self.texts(s["metadata"]["name"]) for s in self.kube.objects("Secret")}

    def put_secret(self, name: str, texts: Mapping[str, str], **labels: str) -> None:
        meta = {"name": name, "namespace": NS, "labels": labels}
        self.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": dict(texts)})

    def put_bundle(self, service: str) -> None:
        labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": service}
        meta = {"name": service, "namespace": NS, "labels": labels}
        self.kube.create({"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta})


@pytest.fixture
def bed() -> Bed:
    return Bed()


def test_every_credential_is_made_and_reported(bed: Bed) -> None:
    assert bed.reconcile() == RESYNC
    assert bed.all_texts().keys() == {"database-credentials", "identity-credentials"}
    assert bed.texts("identity-credentials").keys() == {"admin-password", "database-password"}
    secret = bed.secret("identity-credentials") or {}
    assert secret["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "openstack-controller",
        "osctl.dev/service": "identity",
        "osctl.dev/deployment": REGION,
    }
    condition = bed.condition()
    assert (condition["status"], condition["reason"]) == ("True", "SecretsReady")
    assert condition["message"] == "3 credentials in 2 Secrets are in place"
    assert bed.events.seen == [("Normal", "SecretsReady", condition["message"])]
    entry = bed.region()["status"]["secrets"]["identity-credentials"]
    assert (entry["state"], entry["keys"]) == ("Ready", ["admin-password", "database-password"])


def test_no_value_is_in_the_status_an_event_or_the_log(bed: Bed, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    bed.reconcile()
    shown = json.dumps(bed.region()) + repr(bed.events.seen) + caplog.text
    for texts in bed.all_texts().values():
        for text in texts.values():
            assert text not in shown
            assert base64.b64encode(text.encode()).decode() not in shown


def test_a_second_look_writes_nothing(bed: Bed) -> None:
    bed.reconcile()
    bed.kube.forget_requests()
    bed.clock.advance(1000)
    assert bed.restarted(seed=1).reconcile((NS, REGION)) == RESYNC
    assert bed.kube.writes == []
    assert len(bed.kube.requests) <= 12
    assert len(bed.events.seen) == 1


def test_a_restart_keeps_every_credential(bed: Bed) -> None:
    bed.reconcile()
    before = bed.all_texts()
    bed.restarted(seed=1).reconcile((NS, REGION))
    assert bed.all_texts() == before


@pytest.mark.parametrize("when", ["before_write", "after_write"])
@pytest.mark.parametrize("nth", range(1, 5))
def test_killed_at_any_write_the_next_run_ends_where_one_run_would(when: str, nth: int) -> None:
    bed = Bed()
    made: dict[str, dict[str, str]] = {}
    count = 0

    def kill(request: Request) -> None:
        nonlocal count
        count += 1
        if count == nth:
            made.update(bed.all_texts())
            raise Killed

    setattr(bed.kube, when, kill)
    with contextlib.suppress(Killed):
        bed.reconcile()
    setattr(bed.kube, when, lambda request: None)
    bed.restarted(seed=1).reconcile((NS, REGION))
    after = bed.all_texts()
    assert after.keys() == {"database-credentials", "identity-credentials"}
    assert all(after[name] == texts for name, texts in made.items())
    assert bed.condition()["status"] == "True"


def once(bed: Bed, verb: str, action: Callable[[], None]) -> None:
    """Has someone else act just before our next write of that kind to a Secret."""

    def strike(request: Request) -> None:
        if request.kind == "Secret" and request.verb == verb:
            bed.kube.before_write = lambda request: None
            action()

    bed.kube.before_write = strike


def test_of_two_writers_that_create_the_first_wins(bed: Bed) -> None:
    once(bed, "create", lambda: bed.put_secret("database-credentials", {"root-password": "theirs"}))
    assert bed.reconcile() == RESYNC
    assert bed.texts("database-credentials") == {"root-password": "theirs"}
    assert bed.condition()["status"] == "True"


def test_an_edit_between_reading_and_writing_is_not_lost(bed: Bed) -> None:
    bed.put_secret("identity-credentials", {"admin-password": "mine", "note": "keep"})

    def edit() -> None:
        secret = bed.secret("identity-credentials") or {}
        bed.kube.replace({**secret, "stringData": {"database-password": "typed-in-by-hand"}})

    once(bed, "replace", edit)
    bed.reconcile()
    assert bed.texts("identity-credentials") == {
        "admin-password": "mine",
        "database-password": "typed-in-by-hand",
        "note": "keep",
    }


def test_writers_that_never_rest_end_in_a_conflict_to_retry_later(bed: Bed) -> None:
    def refuse(request: Request) -> None:
        if request.verb == "create":
            raise Conflict("someone is always first")

    bed.kube.before_write = refuse
    with pytest.raises(Conflict):
        bed.reconcile()


def test_a_lost_secret_is_reported_and_not_made_again(bed: Bed) -> None:
    bed.reconcile()
    bed.kube.delete(SECRET, "database-credentials", NS)
    for _ in range(3):
        assert bed.reconcile() == SOON_SECONDS
    assert bed.secret("database-credentials") is None
    condition = bed.condition()
    assert (condition["status"], condition["reason"]) == ("False", "CredentialsLost")
    assert "root-password existed and is gone" in condition["message"]
    assert bed.events.seen[-1][:2] == ("Warning", "CredentialsLost")
    assert bed.region()["status"]["secrets"]["database-credentials"]["state"] == "Incomplete"
    bed.put_secret("database-credentials", {"root-password": ""})
    assert bed.reconcile() == RESYNC
    assert bed.texts("database-credentials")["root-password"]
    assert bed.condition()["status"] == "True"


def install(bed: Bed, service: str, uses: str = "") -> None:
    """Its release is deployed, and refers to credentials, its own if nothing is said."""
    [release] = RELEASES[service]
    bed.put_bundle(service)
    bundle = bed.kube.get(HELMBUNDLE, service, NS)
    assert bundle is not None
    values = {"password": {"$secretRef": {"name": uses or f"{service}-credentials", "key": "root-password"}}}
    chart = {"name": release, "path": release}
    spec = {"releases": [{"name": release, "chart": chart, "values": values}]}
    live = bed.kube.replace({**bundle, "spec": spec})
    bed.kube.replace(
        {**live, "status": {"releases": [{"name": release, "revision": 1}]}}, subresource="status"
    )


def lose_region(bed: Bed) -> None:
    """It comes back under another uid, and its status is gone with it."""
    finalize(bed, [])
    bed.kube.delete(OSDPL, REGION, NS)
    bed.create_region()


def test_what_was_lost_before_the_region_came_back_is_not_made_again(bed: Bed) -> None:
    bed.reconcile()
    install(bed, "database")
    before = bed.texts("database-credentials")
    bed.kube.delete(SECRET, "database-credentials", NS)
    lose_region(bed)
    for _ in range(3):
        bed.reconcile()
    assert bed.secret("database-credentials") is None
    assert "root-password existed and is gone" in bed.condition()["message"]
    bed.put_secret("database-credentials", before)
    bed.reconcile()
    assert bed.condition()["status"] == "True"
    assert bed.texts("database-credentials") == before


def test_what_was_lost_is_not_made_again_either_once_something_else_is_recorded(bed: Bed) -> None:
    """The spec is refused at first, and ends of certificates are published meanwhile."""
    tls = {"tls": {"public": {"enabled": True, "secretName": "public-cert"}}}
    bed.reconcile()
    install(bed, "database")
    bed.kube.delete(SECRET, "database-credentials", NS)
    lose_region(bed)
    bed.edit(features=tls, broken=True)
    bed.reconcile()
    assert bed.region()["status"]["secrets"].keys() == {"public-cert"}
    bed.edit(broken=False)
    bed.reconcile()
    assert bed.secret("database-credentials") is None
    assert "root-password existed and is gone" in bed.condition()["message"]


def test_what_a_release_is_to_use_from_now_on_is_new(bed: Bed) -> None:
    """Its HelmBundle may refer to credentials of another service before these are made."""
    bed.edit(**{"with": ["identity"]})
    bed.reconcile()
    install(bed, "identity", "database-credentials")
    bed.edit(**{"with": ["database", "identity"]})
    bed.reconcile()
    assert bed.texts("database-credentials").keys() == {"root-password"}


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_what_was_lost_is_not_made_again_while_a_claim_of_the_service_was_kept(bed: Bed, how: str) -> None:
    bed.reconcile()
    keep_claim(bed, "mariadb")
    bed.edit(**{"with": ["identity"]})
    bed.kube.delete(SECRET, "database-credentials", NS)
    if how == "emptied":
        bed.put_secret("database-credentials", {})
    bed.reconcile()
    bed.edit(**{"with": ["database", "identity"]})
    bed.reconcile()
    assert bed.texts("database-credentials") == {}
    assert bed.condition()["reason"] == "CredentialsLost"
    bed.kube.delete(PVC, "mariadb-backup-data", NS)
    lose_region(bed)
    bed.reconcile()
    assert bed.texts("database-credentials").keys() == {"root-password"}


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_what_was_lost_stays_lost_where_its_service_comes_back_before_it_has_gone(bed: Bed, how: str) -> None:
    bed.reconcile()
    install(bed, "database")
    labels = (bed.secret("database-credentials") or {})["metadata"]["labels"]
    bed.kube.delete(SECRET, "database-credentials", NS)
    if how == "emptied":
        bed.put_secret("database-credentials", {}, **labels)
    for services in (["identity"], ["database", "identity"]):
        bed.edit(**{"with": services})
        bed.reconcile()
        bed.reconcile()
    assert bed.texts("database-credentials") == {}
    assert "root-password existed and is gone" in bed.condition()["message"]


def test_credentials_of_a_service_that_is_new_are_made_beside_claims_that_were_kept(bed: Bed) -> None:
    bed.edit(**{"with": ["identity"]})
    bed.reconcile()
    keep_claim(bed, "glance")
    install(bed, "database")
    bed.edit(**{"with": ["database", "identity"]})
    bed.reconcile()
    assert bed.condition()["status"] == "True"


def test_a_failed_read_generates_nothing(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    bed.reconcile()
    before = bed.all_texts()

    def unavailable(*_: Any, **__: Any) -> Any:
        raise ApiUnavailable("overloaded")

    monkeypatch.setattr(bed.kube, "list", unavailable)
    with pytest.raises(ApiUnavailable):
        bed.reconcile()
    assert bed.all_texts() == before


def test_a_changed_secret_shows_in_the_digest_with_its_time(bed: Bed) -> None:
    bed.reconcile()
    before = bed.region()["status"]["secrets"]["database-credentials"]
    secret = bed.secret("database-credentials") or {}
    bed.kube.replace({**secret, "stringData": {"root-password": "rotated-by-hand"}})
    bed.clock.advance(60)
    bed.reconcile()
    after = bed.region()["status"]["secrets"]["database-credentials"]
    assert after["digest"] != before["digest"]
    assert (before["rotated"], after["rotated"]) == ("2023-11-14T22:13:20Z", "2023-11-14T22:14:20Z")


OWN = {"credentials": {"identity": {"admin-password": {"name": "mine", "key": "pw"}}}}


def test_a_missing_secret_of_the_operator_is_named_until_it_comes() -> None:
    bed = Bed(features=OWN)
    assert bed.reconcile() == SOON_SECONDS
    message = bed.condition()["message"]
    assert 'Secret "mine"' in message
    assert "spec.features.credentials.identity.admin-password" in message
    assert bed.texts("identity-credentials").keys() == {"database-password"}
    bed.put_secret("mine", {"pw": "hunter2-hunter2"})
    assert bed.reconcile() == RESYNC
    assert bed.condition()["message"] == "3 credentials in 3 Secrets are in place"


def test_a_secret_of_the_operator_is_only_read() -> None:
    bed = Bed(features=OWN)
    bed.put_secret("mine", {"pw": "hunter2-hunter2", "other": "x"})
    before = bed.secret("mine")
    bed.reconcile()
    assert bed.secret("mine") == before
    assert bed.region()["status"]["secrets"]["mine"]["keys"] == ["pw"]


def test_what_else_is_in_a_secret_of_the_operator_does_not_count() -> None:
    bed = Bed(features=OWN)
    bed.put_secret("mine", {"pw": "hunter2-hunter2", "other": "x"})
    bed.reconcile()
    before = bed.region()["status"]["secrets"]["mine"]
    bed.kube.replace({**(bed.secret("mine") or {}), "stringData": {"other": "y"}})
    bed.reconcile()
    assert bed.region()["status"]["secrets"]["mine"] == before


def test_a_spec_that_cannot_be_read_leaves_everything_and_says_so(bed: Bed) -> None:
    bed.reconcile()
    before = bed.all_texts(), bed.region()["status"]["secrets"]
    bed.edit(broken=True)
    assert bed.reconcile() == RESYNC
    assert (bed.all_texts(), bed.region()["status"]["secrets"]) == before
    condition = bed.condition()
    assert (condition["status"], condition["reason"]) == ("Unknown", "SpecInvalid")
    assert "spec.preset" in condition["message"]


def test_credentials_of_a_removed_service_wait_for_its_return(bed: Bed) -> None:
    bed.reconcile()
    before = bed.texts("identity-credentials")
    bed.edit(**{"with": ["database"]})
    bed.reconcile()
    assert bed.texts("identity-credentials") == before
    bed.edit(**{"with": ["database", "identity"]})
    bed.reconcile()
    assert bed.texts("identity-credentials") == before


def test_with_volumes_credentials_of_a_removed_service_wait_too_for_its_database_lives_on() -> None:
    bed = Bed(volumes="Delete")
    for service in CATALOGUE:
        bed.put_bundle(service)
    bed.reconcile()
    before = bed.texts("identity-credentials")
    bed.edit(**{"with": ["database"]})
    bed.kube.delete(HELMBUNDLE, "identity", NS)
    bed.reconcile()
    assert bed.texts("identity-credentials") == before
    bed.edit(**{"with": ["database", "identity"]})
    assert bed.reconcile() == RESYNC
    assert bed.texts("identity-credentials") == before


def keep_claim(bed: Bed, release: str = "mariadb") -> None:
    meta = {"name": "mariadb-backup-data", "namespace": NS, "labels": {"osctl.dev/kept": release}}
    bed.kube.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta})


def delete_region(bed: Bed) -> None:
    """Core has let its bundles go, and lets itself go once the credentials have."""
    finalize(bed, ["core.osctl.dev/finalizer"])
    bed.kube.delete(OSDPL, REGION, NS)


def test_credentials_stay_as_long_as_any_claim_that_was_kept_earlier() -> None:
    bed = Bed(volumes="Delete")
    keep_claim(bed)
    bed.reconcile()
    before = bed.texts("identity-credentials")
    delete_region(bed)
    bed.reconcile()
    assert bed.texts("identity-credentials") == before
    bed.kube.delete(PVC, "mariadb-backup-data", NS)
    bed.reconcile()
    assert bed.secret("identity-credentials") is None


def test_credentials_are_not_collected_with_a_region_whose_claims_were_kept_earlier() -> None:
    bed = Bed(volumes="Delete")
    bed.reconcile()
    keep_claim(bed)
    delete_region(bed)
    bed.reconcile()
    assert owners(bed) == []


def test_credentials_of_a_region_that_came_back_while_a_process_stood_still_are_not_deleted() -> None:
    bed = Bed(volumes="Delete")
    bed.reconcile()
    before, slow = bed.all_texts(), bed.reconciler
    delete_region(bed)

    def another_goes_on(request: Request) -> None:
        if request.verb == "delete":
            bed.kube.before_write = lambda request: None
            finalize(bed, [])
            bed.create_region(volumes="Delete")
            bed.restarted(seed=1).reconcile((NS, REGION))

    bed.kube.before_write = another_goes_on
    assert slow.reconcile((NS, REGION)) == RESYNC
    assert bed.all_texts() == before


def test_nothing_begins_with_credentials_that_are_about_to_be_deleted() -> None:
    """Else a database could be made with a password that a process deletes which stands still."""
    bed = Bed(volumes="Delete")
    bed.reconcile()
    read: list[str | None] = [SecretValues(bed.kube, NS).lookup("identity-credentials", "admin-password")]
    delete_region(bed)

    def look(request: Request) -> None:
        if request.verb == "delete":
            read.append(SecretValues(bed.kube, NS).lookup("identity-credentials", "admin-password"))

    bed.kube.before_write = look
    bed.reconcile()
    assert read[0] and set(read[1:]) == {None}


def owners(bed: Bed) -> list[str]:
    secret = bed.secret("database-credentials") or {}
    return [reference["uid"] for reference in secret["metadata"].get("ownerReferences", [])]


def own(bed: Bed, name: str = "database-credentials") -> None:
    """Gives a Secret an osdpl as its owner, as earlier versions did."""
    reference = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "name": REGION, "uid": "another"}
    bed.kube.merge_patch(SECRET, name, NS, {"metadata": {"ownerReferences": [reference]}})


@pytest.mark.parametrize("volumes", ["Retain", "Delete"])
def test_no_credentials_are_owned_by_the_region(bed: Bed, volumes: str) -> None:
    bed.edit(volumes=volumes)
    bed.reconcile()
    assert owners(bed) == []
    own(bed)
    bed.reconcile()
    assert owners(bed) == []


@pytest.mark.parametrize(
    "spec",
    [{"mode": "Paused"}, {"mode": "Plan"}, {"broken": True}, {"mode": "Paused", "with": ["identity"]}],
    ids=["paused", "planned", "refused", "no longer needed"],
)
def test_also_where_everything_else_stays_no_credentials_are_owned(bed: Bed, spec: dict[str, Any]) -> None:
    """The osdpl that comes back under another uid takes them along, from under a living database."""
    bed.reconcile()
    before = bed.all_texts()
    own(bed)
    bed.edit(**spec)
    bed.reconcile()
    assert owners(bed) == []
    assert bed.all_texts() == before


def test_an_owned_secret_of_a_paused_region_is_neither_completed_nor_labelled() -> None:
    bed = Bed(mode="Paused")
    bed.put_secret("identity-credentials", {"admin-password": "theirs"})
    own(bed, "identity-credentials")
    bed.reconcile()
    meta = (bed.secret("identity-credentials") or {})["metadata"]
    assert not meta.get("ownerReferences") and not meta.get("labels")
    assert bed.all_texts() == {"identity-credentials": {"admin-password": "theirs"}}


def test_a_refusal_to_take_back_an_owner_is_reported_with_what_is_wrong_in_the_spec(bed: Bed) -> None:
    def refuse(request: Request) -> None:
        if request.kind == "Secret":
            raise ObjectRefused("a policy forbids it")

    bed.reconcile()
    own(bed)
    bed.edit(broken=True)
    bed.kube.before_write = refuse
    assert bed.reconcile() == SOON_SECONDS
    condition = bed.condition()
    assert (condition["status"], condition["reason"]) == ("Unknown", "SpecInvalid")
    assert "no such preset" in condition["message"]
    assert "Secret database-credentials: the API server refuses" in condition["message"]
    assert "a policy forbids it" not in condition["message"]


def test_with_volumes_the_credentials_of_a_deleted_region_go_after_the_last_of_its_bundles() -> None:
    bed = Bed(volumes="Delete")
    bed.reconcile()
    bed.put_bundle("database")
    delete_region(bed)
    bed.reconcile()
    assert bed.secret("database-credentials")
    assert bed.secret("identity-credentials"), "its database is still there"
    bed.kube.delete(HELMBUNDLE, "database", NS)
    bed.reconcile()
    assert bed.all_texts() == {}


def finalize(bed: Bed, finalizers: list[str]) -> None:
    osdpl = bed.region()
    bed.kube.replace({**osdpl, "metadata": {**osdpl["metadata"], "finalizers": finalizers}})


def test_a_policy_edited_just_before_the_deletion_still_counts() -> None:
    bed = Bed(volumes="Delete")
    bed.reconcile()
    finalize(bed, ["core.osctl.dev/finalizer"])
    bed.edit(volumes="Retain")
    bed.kube.delete(OSDPL, REGION, NS)
    bed.reconcile()
    assert owners(bed) == []
    finalize(bed, [])
    bed.kube.collect_garbage()
    assert bed.secret("database-credentials")


def test_a_region_that_returns_takes_up_its_credentials(bed: Bed) -> None:
    bed.reconcile()
    before = bed.all_texts()
    bed.kube.delete(OSDPL, REGION, NS)
    bed.kube.collect_garbage()
    assert bed.reconcile() is None
    bed.create_region()
    bed.reconcile()
    assert bed.all_texts() == before
    assert bed.condition()["status"] == "True"


def test_a_deleted_region_makes_no_new_credentials(bed: Bed) -> None:
    finalize(bed, ["core.osctl.dev/finalizer"])
    bed.kube.delete(OSDPL, REGION, NS)
    bed.kube.forget_requests()
    bed.reconcile()
    assert bed.kube.writes == []


def test_a_second_region_gets_nothing(bed: Bed) -> None:
    bed.reconcile()
    bed.clock.advance(10)
    meta = {"name": "another", "namespace": NS}
    bed.kube.create({"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "metadata": meta, "spec": {}})
    bed.kube.forget_requests()
    assert bed.reconciler.reconcile((NS, "another")) == RESYNC
    assert bed.kube.writes == []


def test_a_paused_region_is_left_as_it_is() -> None:
    bed = Bed(mode="Paused")
    bed.reconcile()
    assert {(one.kind, one.subresource) for one in bed.kube.writes} == {(OSDPL.kind, "status")}
    assert bed.kube.objects("Secret") == []
    assert "0 of 2 Secrets are in place" in bed.condition()["message"]


def test_a_region_deleted_meanwhile_ends_the_look_quietly(bed: Bed) -> None:
    def delete(request: Request) -> None:
        if request.subresource == "status":
            bed.kube.before_write = lambda request: None
            bed.kube.delete(OSDPL, REGION, NS)

    bed.kube.before_write = delete
    assert bed.reconcile() is None


def test_helms_own_and_other_secrets_are_never_touched(bed: Bed) -> None:
    bed.put_secret("sh.helm.release.v1.keystone.v1", {"release": "x"}, owner="helm")
    labels = {
        "app.kubernetes.io/managed-by": "openstack-controller",
        "osctl.dev/service": "identity",
        "osctl.dev/deployment": REGION,
    }
    bed.put_secret("identity-tls", {"tls.key": "x"}, **labels)
    before = {s["metadata"]["name"]: s for s in bed.kube.objects("Secret")}
    bed.edit(volumes="Delete")
    bed.reconcile()
    after = {s["metadata"]["name"]: s for s in bed.kube.objects("Secret")}
    assert {name: after[name] for name in before} == before


def test_a_secret_of_that_name_that_belongs_to_helm_is_reported(bed: Bed) -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    bed.put_secret("database-credentials", {"x": "y"}, **labels)
    assert bed.reconcile() == SOON_SECONDS
    assert bed.texts("database-credentials") == {"x": "y"}
    assert "owns a Secret of this name" in bed.condition()["message"]
    assert bed.texts("identity-credentials")


def test_a_secret_of_that_name_that_another_controller_owns_is_reported(bed: Bed) -> None:
    """As External Secrets makes them: what we add would be taken out again."""
    bed.put_secret("database-credentials", {"x": "y"})
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": "1", "controller": True}
    meta = {"metadata": {"ownerReferences": [owner]}}
    bed.kube.merge_patch(SECRET, "database-credentials", NS, meta)
    bed.reconcile()
    assert bed.texts("database-credentials") == {"x": "y"}
    assert "owns a Secret of this name" in bed.condition()["message"]


def approve(bed: Bed) -> None:
    """Plays core: the plan of the region's present spec is approved."""
    osdpl = bed.region()
    accepted = {"digest": "sha256:1", "desired": "sha256:2", "generation": osdpl["metadata"]["generation"]}
    body = {"apiVersion": osdpl["apiVersion"], "kind": osdpl["kind"]}
    meta = {"name": REGION, "namespace": NS}
    status = {"plan": {"accepted": accepted}}
    bed.kube.apply({**body, "metadata": meta, "status": status}, manager="osctl-core", subresource="status")


def test_with_mode_plan_nothing_is_made_before_the_plan_is_approved() -> None:
    bed = Bed(mode="Plan")
    bed.reconcile()
    assert {(one.kind, one.subresource) for one in bed.kube.writes} == {("OpenStackDeployment", "status")}
    assert bed.condition()["status"] == "True"
    assert (
        "0 of 2 Secrets are in place; the others follow once the spec is applied"
        in bed.condition()["message"]
    )
    assert bed.region()["status"]["secrets"] == {}
    approve(bed)
    bed.reconcile()
    assert bed.all_texts().keys() == {"database-credentials", "identity-credentials"}


def test_with_mode_plan_an_edit_after_the_approval_makes_nothing(bed: Bed) -> None:
    bed.edit(mode="Plan", **{"with": ["database"]})
    approve(bed)
    bed.reconcile()
    assert bed.all_texts().keys() == {"database-credentials"}
    bed.edit(**{"with": ["database", "identity"]})
    bed.reconcile()
    assert bed.all_texts().keys() == {"database-credentials"}
    assert bed.condition()["status"] == "True"


def test_with_mode_plan_credentials_of_a_service_that_goes_stay_until_it_has_gone(bed: Bed) -> None:
    bed.edit(volumes="Delete")
    bed.reconcile()
    bed.edit(mode="Plan", **{"with": ["database"]})
    bed.reconcile()
    assert bed.all_texts().keys() == {"database-credentials", "identity-credentials"}


def test_a_reference_that_cannot_be_read_does_not_hold_up_the_credentials_of_a_region() -> None:
    bed = Bed()
    bed.put_bundle("identity")
    releases = [{"name": "keystone", "values": {"broken": {"$secretRef": {"name": 3}}}}]
    bed.kube.merge_patch(HELMBUNDLE, "identity", NS, {"spec": {"releases": releases}})
    status = {"releases": [{"name": "keystone", "revision": 1}]}
    bed.kube.merge_patch(HELMBUNDLE, "identity", NS, {"status": status}, subresource="status")
    assert bed.reconcile() == RESYNC
    assert bed.texts("identity-credentials").keys() == {"admin-password", "database-password"}


def test_a_secret_of_a_person_that_is_no_text_is_reported_as_what_it_is() -> None:
    credentials = {"networking": {"metadata-secret": {"name": "theirs", "key": "shared"}}}
    bed = Bed(features={"credentials": credentials})
    bed.put_secret("theirs", {"shared": "one line\n"})
    bed.reconcile()
    assert '"theirs"' not in bed.condition()["message"]
    secret = bed.secret("theirs") or {}
    bed.kube.replace({**secret, "data": {"shared": base64.b64encode(b"\xff").decode()}})
    bed.reconcile()
    path = "spec.features.credentials.networking.metadata-secret"
    assert (
        f'Secret "theirs": key "shared", which {path} names, is not UTF-8 text; replace it by text'
        in bed.condition()["message"]
    )
