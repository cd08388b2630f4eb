"""Credentials of a service are rotated: nothing that runs is refused, and in the end one account is left."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.domain.credentials.backup import backup_of, plan_restore
from controller.domain.credentials.rotation.accounts import Server
from controller.domain.shared import metrics
from controller.ports.kubernetes import DEPLOYMENT, HELMBUNDLE, OSDPL, POD, SECRET, KubeObject
from controller.reconcile.shared.status_metrics import measured_region, secret_series
from tests.fakes.metrics import FakeMetrics
from tests.reconcile.credentials.killed_passes import KilledPasses, killed_by_chance
from tests.reconcile.credentials.rotation_bed import CHARTS, NS, REGION, ROTATE, RotationBed, StorageBed
from tests.sweeps import swept

EVERYWHERE = {Server.DATABASE, Server.BROKER, Server.KEYSTONE}


@pytest.fixture
def bed() -> RotationBed:
    return RotationBed()


def test_it_begins_with_new_passwords_for_accounts_with_other_names(bed: RotationBed) -> None:
    before = bed.texts("compute-credentials")
    bed.ask("compute")
    bed.reconcile()
    after = bed.texts("compute-credentials")
    changed = {key for key in after if after[key] != before.get(key)}
    assert changed == {"account-suffix", "nova-password", "database-password", "messaging-password"}
    assert after["account-suffix"] == "-2"
    assert bed.rotation("compute")["phase"] == "Rolling"
    assert ROTATE not in bed.notes("compute")
    assert bed.events.seen[-1][1] == "CredentialsRotating"


def test_it_ends_with_one_account_for_each_server(bed: RotationBed) -> None:
    bed.ask("compute")
    bed.settle()
    assert bed.names("nova") == {(server, "nova-2") for server in EVERYWHERE}
    assert bed.names("glance") == {(server, "glance") for server in EVERYWHERE}
    assert bed.failures() == []
    assert bed.rotation("compute") == {}
    assert "osctl.dev/rotation" not in bed.notes("compute")
    assert bed.notes("compute")["osctl.dev/rotated-at"]
    assert bed.events.seen[-1][1] == "CredentialsRotated"


@pytest.mark.parametrize("begun", [False, True])
def test_what_may_not_be_written_to_is_reported(bed: RotationBed, *, begun: bool) -> None:
    bed.ask("compute")
    if begun:
        bed.reconcile()
    bed.kube.merge_patch(SECRET, "compute-credentials", NS, {"immutable": True})
    bed.ask("image")
    bed.settle(4)
    found = bed.rotation("compute")
    assert found["phase"] == ("Rolling" if begun else "Waiting")
    assert "the Secret is immutable" in found["message"]
    assert (Server.DATABASE, "nova") in bed.names("nova")
    # One that may never go on holds up no other.
    assert bed.rotation("image") == {}
    assert "glance-2" in {name for _, name in bed.names("glance")}


def test_when_a_rotation_under_way_began_is_measured(bed: RotationBed) -> None:
    measured = FakeMetrics()
    measure = measured_region(measured, secret_series)

    def began() -> float | None:
        measure(None, bed.kube.get(OSDPL, REGION, NS) or {})
        return measured.value(metrics.SECRET_ROTATION_START, region=REGION, secret="compute-credentials")

    bed.ask("compute")
    bed.reconcile()
    assert began() == bed.clock.now()
    bed.settle()
    assert began() is None


def test_the_next_rotation_takes_a_name_that_never_was(bed: RotationBed) -> None:
    for _ in range(2):
        bed.ask("compute")
        bed.settle()
    assert bed.names("nova") == {(server, "nova-3") for server in EVERYWHERE}


def test_the_account_before_stays_until_the_last_pod_is_replaced(bed: RotationBed) -> None:
    bed.ask("compute")
    bed.reconcile()
    bed.reconcile()
    assert bed.rotation("compute")["message"] == "release nova does not use it yet"
    bed.upgrade("compute")
    bed.reconcile()
    assert "Deployment nova-api has old pods" in bed.rotation("compute")["message"]
    assert (Server.DATABASE, "nova") in bed.names("nova")
    bed.replace_pods("compute")
    bed.reconcile()
    assert bed.names("nova") == {(server, "nova-2") for server in EVERYWHERE}


@pytest.mark.slow
def test_what_the_next_account_cannot_be_given_is_reported_before_anything_goes(bed: RotationBed) -> None:
    right = "GRANT PROXY ON 'boss'@'%' TO `nova-2`@`%`"
    bed.servers.not_given["nova"] = right
    bed.ask("compute")
    bed.reconcile()
    bed.upgrade("compute")
    bed.reconcile()
    assert bed.rotation("compute")["phase"] == "Rolling"
    assert right in bed.rotation("compute")["message"]
    bed.settle(6)
    assert bed.rotation("compute")["phase"] == "Removing"
    assert right in bed.rotation("compute")["message"]
    assert {name for _, name in bed.names("nova")} == {"nova", "nova-2"}
    bed.servers.not_given.clear()  # someone has taken it away, or given it by hand
    bed.settle()
    assert bed.names("nova") == {(server, "nova-2") for server in EVERYWHERE}


def test_a_pod_that_is_still_ending_is_waited_for(bed: RotationBed) -> None:
    bed.ask("compute")
    bed.reconcile()
    bed.upgrade("compute")
    bed.replace_pods("compute")
    meta = {
        "name": "nova-api-1",
        "namespace": NS,
        "labels": {"release_group": "nova"},
        "finalizers": ["example.org/held"],
    }
    bed.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta})
    bed.kube.delete(POD, "nova-api-1", NS)
    bed.reconcile()
    assert bed.rotation("compute")["message"] == "Pod nova-api-1 has not ended yet"
    assert (Server.DATABASE, "nova") in bed.names("nova")


def test_the_run_of_a_job_that_began_before_is_waited_for(bed: RotationBed) -> None:
    meta = {
        "name": "nova-purge-1",
        "namespace": NS,
        "labels": {"release_group": "nova"},
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "nova-purge", "uid": "u"}],
    }
    bed.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": {"phase": "Running"}})
    bed.clock.advance(60)
    bed.ask("compute")
    bed.settle(3)
    assert bed.rotation("compute")["message"] == "Pod nova-purge-1 of a Job started before"
    bed.kube.delete(POD, "nova-purge-1", NS)
    bed.settle(2)
    assert bed.rotation("compute") == {}


def test_a_rotation_that_a_clock_far_ahead_has_begun_goes_on(bed: RotationBed) -> None:
    bed.clock.jump(800 * 86400.0)
    bed.ask("compute")
    bed.reconcile()
    bed.clock.jump(-800 * 86400.0)
    meta = {
        "name": "nova-purge-1",
        "namespace": NS,
        "labels": {"release_group": "nova"},
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "nova-purge", "uid": "u"}],
    }
    bed.settle(1)
    bed.clock.advance(60)
    bed.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": {"phase": "Running"}})
    bed.settle()
    assert bed.rotation("compute") == {}


@pytest.mark.slow
def test_who_else_uses_the_account_before_is_reported_and_keeps_it(bed: RotationBed) -> None:
    bed.servers.others[Server.DATABASE, "nova"] = 3
    bed.ask("compute")
    bed.settle()
    found = bed.rotation("compute")
    assert found["phase"] == "Removing"
    assert found["message"] == (
        "account nova still has 3 connections at mariadb.openstack.svc.cluster.local:3306"
    )
    assert bed.names("nova") == {(server, name) for server in EVERYWHERE for name in ("nova", "nova-2")}
    bed.servers.others.clear()
    bed.settle(1)
    assert bed.rotation("compute") == {}


def test_nothing_begins_while_a_server_cannot_be_reached(bed: RotationBed) -> None:
    bed.servers.down = {Server.BROKER}
    bed.ask("compute")
    bed.settle(2)
    assert bed.texts("compute-credentials").get("account-suffix") is None
    assert bed.rotation("compute") == {
        "phase": "Waiting",
        "message": "rabbitmq.openstack.svc.cluster.local:15672 does not answer",
    }
    bed.servers.down = set()
    bed.settle()
    assert bed.rotation("compute") == {}


def test_nothing_begins_while_a_release_is_not_what_its_spec_says(bed: RotationBed) -> None:
    bed.mark("nova", 1, "failed")
    bed.ask("compute")
    bed.reconcile()
    assert bed.rotation("compute") == {"phase": "Waiting", "message": "release nova is not deployed"}


def test_what_cannot_be_moved_to_another_account_keeps_the_rotation_from_beginning(bed: RotationBed) -> None:
    bed.servers.owned["nova"] = ("2 application credentials",)
    bed.ask("compute")
    bed.settle(2)
    assert (
        "account nova owns objects that would be deleted with it: 2 application credentials"
        in bed.rotation("compute")["message"]
    )
    assert bed.texts("compute-credentials").get("account-suffix") is None


def test_roles_are_passed_on_as_soon_as_the_next_account_is_there(bed: RotationBed) -> None:
    bed.ask("compute")
    bed.reconcile()
    bed.upgrade("compute")
    bed.reconcile()
    assert ("nova", "nova-2") in bed.servers.passed_on
    assert (Server.KEYSTONE, "nova") in bed.names("nova")


def test_a_secret_that_was_deleted_comes_back_with_the_names_that_its_passwords_are_for(
    bed: RotationBed,
) -> None:
    bed.ask("compute")
    bed.settle()
    used = {"nova-password", "database-password", "messaging-password", "account-suffix"}
    before = {key: text for key, text in bed.texts("compute-credentials").items() if key in used}
    bed.kube.delete(SECRET, "compute-credentials", NS)
    bed.reconcile()
    assert {key: bed.texts("compute-credentials").get(key) for key in before} == before
    bed.settle()
    assert bed.names("nova") == {(server, "nova-2") for server in EVERYWHERE}


def test_one_secret_after_the_other(bed: RotationBed) -> None:
    bed.ask("compute")
    bed.ask("image")
    bed.reconcile()
    assert bed.rotation("image")["phase"] == "Rolling"
    assert bed.rotation("compute") == {
        "phase": "Waiting",
        "message": "Secret image-credentials is rotated first",
    }
    bed.settle()
    assert bed.names("nova") == {(server, "nova-2") for server in EVERYWHERE}
    assert bed.names("glance") == {(server, "glance-2") for server in EVERYWHERE}


def test_a_paused_region_rotates_nothing_and_goes_on_afterwards(bed: RotationBed) -> None:
    bed.ask("image")
    bed.reconcile()
    bed.ask("compute")
    bed.set_mode("Paused")
    bed.settle(3)
    assert bed.rotation("compute")["phase"] == "Waiting"
    assert (Server.DATABASE, "glance") in bed.names("glance")
    bed.set_mode("Apply")
    bed.settle()
    assert (bed.rotation("compute"), bed.rotation("image")) == ({}, {})


def test_an_operators_own_name_of_an_account_is_left_alone(bed: RotationBed) -> None:
    """Also where it is given while a rotation is under way, and is the name before it."""
    bed.ask("compute")
    bed.reconcile()
    bed.upgrade("compute")

    def by_hand(values: dict[str, Any]) -> None:
        for endpoint in ("oslo_db", "oslo_db_cell0"):
            values["endpoints"][endpoint]["auth"]["nova"]["username"] = "nova"

    bed.edit("compute", by_hand)
    bed.settle()
    assert (Server.DATABASE, "nova") in bed.names("nova")
    assert (Server.BROKER, "nova") not in bed.names("nova")
    assert bed.rotation("compute") == {}


def test_a_secret_without_accounts_is_refused_by_name() -> None:
    bed = StorageBed()
    before = bed.texts("object-storage-credentials")
    bed.ask("object-storage")
    bed.settle(2)
    assert bed.texts("object-storage-credentials") == before
    assert bed.events.seen[-1][:2] == ("Warning", "RotationRefused")
    assert "the Secret holds neither an account of a release" in bed.events.seen[-1][2]
    assert ROTATE not in bed.notes("object-storage")


def test_where_only_certificates_are_let_in_it_is_refused(bed: RotationBed) -> None:
    bed.edit("compute", lambda values: values.update(tls={"oslo_db": True}))
    bed.upgrade("compute")
    bed.replace_pods("compute")
    bed.ask("compute")
    bed.settle(2)
    assert bed.events.seen[-1][1] == "RotationRefused"
    assert "the database of nova accepts only clients with a certificate" in bed.events.seen[-1][2]


def test_bundles_are_looked_at_once_and_at_once(bed: RotationBed) -> None:
    bed.ask("compute")
    bed.reconcile()
    bed.reconcile()

    def asked(service: str) -> str | None:
        bundle = bed.kube.get(HELMBUNDLE, service, NS)
        assert bundle is not None
        return (bundle["metadata"].get("annotations") or {}).get("osctl.dev/reconcile-requested-at")

    assert asked("compute")
    assert asked("image") is None
    bed.kube.forget_requests()
    bed.reconcile()
    assert bed.kube.changes == []


def test_no_password_is_in_a_status_an_event_an_annotation_or_the_log(
    bed: RotationBed, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    secret = "compute-credentials"
    passwords = {text for key, text in bed.texts(secret).items() if key.endswith("password")}
    bed.ask("compute")
    bed.settle()
    passwords |= {text for key, text in bed.texts(secret).items() if key.endswith("password")}
    shown = json.dumps(bed.kube.get(OSDPL, REGION, NS)) + repr(bed.events.seen) + caplog.text
    shown += json.dumps(bed.notes("compute"))
    assert len(passwords) == 7
    assert not [text for text in passwords if text in shown]


def test_a_second_look_writes_nothing(bed: RotationBed) -> None:
    bed.ask("compute")
    bed.settle()
    bed.assert_rests()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nth", "after"),
    # What lies before a write lies after the one before it.
    swept(product(range(1, 9), (False, True)), daily=[(1, False), *((nth, True) for nth in range(1, 9))]),
)
def test_killed_at_any_write_it_ends_anyway(bed: RotationBed, nth: int, after: bool) -> None:
    bed.ask("compute")
    passes = KilledPasses(bed, nth, after=after, servers=False)
    for _ in range(12):
        passes.run()
        for service in CHARTS:
            bed.upgrade(service)
            bed.replace_pods(service)
        assert bed.failures() == []
    assert bed.names("nova") == {(server, "nova-2") for server in EVERYWHERE}
    assert "osctl.dev/rotation" not in bed.notes("compute")


def remove_service(bed: RotationBed) -> KubeObject:
    """image is disabled; its HelmBundle as it was."""
    bundle = bed.kube.get(HELMBUNDLE, "image", NS)
    assert bundle is not None
    bed.kube.delete(HELMBUNDLE, "image", NS)
    bed.kube.delete(DEPLOYMENT, "glance-api", NS)
    del bed.servers.pods["glance"]
    meta = {key: bundle["metadata"][key] for key in ("name", "namespace", "labels")}
    return {**bundle, "metadata": meta}


def test_accounts_of_a_service_that_is_disabled_meanwhile_go_once_it_is_back(bed: RotationBed) -> None:
    bed.ask("image")
    bed.reconcile()
    bed.upgrade("image")
    bundle = remove_service(bed)
    bed.events.seen.clear()
    bed.reconcile()
    assert bed.rotation("image")["phase"] == "Removing"
    assert "account glance at the database of glance is deleted once" in bed.rotation("image")["message"]
    assert "CredentialsRotated" not in [reason for _, reason, _ in bed.events.seen]
    bed.ask("compute")
    bed.reconcile()
    assert bed.rotation("compute")["phase"] == "Rolling", "it does not wait for a service that may never come"
    bed.kube.create(bundle)
    bed.kube.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": "glance-api",
                "namespace": NS,
                "annotations": {
                    "meta.helm.sh/release-name": "glance",
                    "meta.helm.sh/release-namespace": NS,
                },
            },
            "spec": {"replicas": 2},
        }
    )
    bed.settle(20)
    assert bed.names("glance") == {(server, "glance-2") for server in EVERYWHERE}
    assert bed.rotation("image") == {}


@pytest.mark.slow
def test_accounts_that_the_values_name_otherwise_by_now_are_reported_until_they_are_gone(
    bed: RotationBed,
) -> None:
    bed.ask("image")
    bed.reconcile()
    bed.edit("image", lambda values: values["endpoints"]["oslo_db"]["auth"]["glance"].update(username="mine"))
    bed.settle()
    assert bed.rotation("image")["phase"] == "Removing"
    assert "no values use account glance at the database of glance" in bed.rotation("image")["message"]
    del bed.servers.accounts[Server.DATABASE, "glance"]
    bed.settle()
    assert bed.rotation("image") == {}


@pytest.mark.parametrize("taken_up", [True, False])
def test_a_rotation_goes_on_once_its_secret_is_brought_back(bed: RotationBed, taken_up: bool) -> None:
    bed.ask("image")
    bed.reconcile()
    if taken_up:
        bed.upgrade("image")
    bed.reconcile()
    bed.kube.delete(SECRET, "image-credentials", NS)
    bed.settle(20)
    suffix = "-2" if taken_up else ""
    assert bed.texts("image-credentials").get("account-suffix", "") == suffix
    assert bed.names("glance") == {(server, f"glance{suffix}") for server in EVERYWHERE}
    assert bed.failures() == []
    assert bed.rotation("image") == {}


def test_a_rotation_is_not_forgotten_while_its_secret_is_lost(bed: RotationBed) -> None:
    bed.ask("image")
    bed.reconcile()
    bed.upgrade("image")
    record = bed.notes("image")["osctl.dev/rotation"]
    assert bed.rotation("image")["record"] == record
    bed.kube.delete(SECRET, "image-credentials", NS)
    bed.edit("image", lambda values: values.update(edited="so that no record is of today"))
    for _ in range(3):
        bed.reconcile()
    assert bed.rotation("image")["record"] == record
    bed.edit("image", lambda values: values.pop("edited"))
    bed.reconcile()
    assert bed.notes("image")["osctl.dev/rotation"] == record


def write_over(bed: RotationBed, text: str | None, service: str = "image") -> None:
    """Someone changes the annotation, or takes it away."""
    patch = {"metadata": {"annotations": {"osctl.dev/rotation": text}}}
    bed.kube.merge_patch(SECRET, f"{service}-credentials", NS, patch)


def exchanged(bed: RotationBed) -> Mapping[str, Any]:
    """The condition."""
    osdpl = bed.kube.get(OSDPL, REGION, NS)
    assert osdpl is not None
    return find(osdpl["status"]["conditions"], "SecretsExchanged")


UNREADABLE = ["", "{}", "cut {", '{"since": "2026-01-01T00:00:00Z", "before": "", "accounts": [{}]}', None]


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_rotation_whose_annotation_is_lost_goes_on_from_the_status(
    bed: RotationBed, text: str | None
) -> None:
    bed.ask("image")
    bed.reconcile()
    record = bed.notes("image")["osctl.dev/rotation"]
    bed.upgrade("image")
    write_over(bed, text)
    bed.restart()
    bed.reconcile()
    assert bed.notes("image")["osctl.dev/rotation"] == record
    bed.settle()
    assert bed.names("glance") == {(server, "glance-2") for server in EVERYWHERE}
    assert bed.failures() == []
    assert bed.rotation("image") == {}


@pytest.mark.parametrize("days", [0, 2, 800])
def test_one_that_a_clock_far_ahead_has_ended_hides_no_later_one(bed: RotationBed, days: int) -> None:
    """When the last one ended lies in years to come: that is no end of the one that goes on now."""
    bed.clock.jump(days * 86400.0)
    bed.ask("image")
    bed.settle()
    assert bed.notes("image")["osctl.dev/rotated-at"]
    bed.clock.jump(-days * 86400.0)
    bed.ask("image")
    bed.reconcile()
    record = bed.notes("image")["osctl.dev/rotation"]
    bed.upgrade("image")
    write_over(bed, None)
    bed.reconcile()
    assert bed.notes("image").get("osctl.dev/rotation") == record
    bed.settle()
    assert bed.names("glance") == {(server, "glance-3") for server in EVERYWHERE}
    assert bed.rotation("image") == {}


def test_in_a_pause_the_status_keeps_what_the_annotation_was(bed: RotationBed) -> None:
    bed.ask("image")
    bed.reconcile()
    record = bed.rotation("image")["record"]
    bed.set_mode("Paused")
    write_over(bed, "cut {")
    for _ in range(2):
        bed.reconcile()
    assert bed.rotation("image")["record"] == record
    assert bed.notes("image")["osctl.dev/rotation"] == "cut {"
    bed.set_mode("Apply")
    bed.settle()
    assert bed.names("glance") == {(server, "glance-2") for server in EVERYWHERE}


@pytest.mark.slow
def test_an_unknown_one_is_reported_and_left_alone(bed: RotationBed) -> None:
    before = bed.texts("image-credentials")
    bed.ask("image")
    write_over(bed, "cut {")
    for _ in range(3):
        bed.reconcile()
    told = exchanged(bed)
    assert told["status"] == "False"
    cause = 'Secret "image-credentials": the controller cannot read the annotation osctl.dev/rotation'
    assert cause in told["message"]
    assert "kubectl annotate secret NAME osctl.dev/rotation-" in told["message"]
    assert bed.texts("image-credentials") == before
    assert "record" not in bed.rotation("image")
    bed.ask("compute")
    for _ in range(12):
        bed.reconcile()
        bed.upgrade("compute")
        bed.replace_pods("compute")
        bed.clock.advance(10)
    assert bed.rotation("compute") == {}, "it holds up no other"
    write_over(bed, None)
    bed.settle()
    assert bed.texts("image-credentials")["account-suffix"] == "-2"
    assert exchanged(bed)["status"] == "True"


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_its_end_it_does_not_begin_again_from_the_status(after: bool) -> None:
    for nth in range(1, 12):
        bed = RotationBed()
        bed.ask("image")
        KilledPasses(bed, nth, after=after).settle(12)
        assert bed.notes("image").get("osctl.dev/rotation") is None
        assert bed.texts("image-credentials")["account-suffix"] == "-2"
        assert [reason for _, reason, _ in bed.events.seen].count("CredentialsRotating") <= 1


def restore(bed: RotationBed, backup: KubeObject) -> None:
    """`osctl credentials restore`, with everything overwritten."""
    name = backup["metadata"]["name"]
    [kept] = backup_of(NS, "", [backup]).secrets
    live = bed.kube.get(SECRET, name, NS)
    [step] = plan_restore([kept], {name: live} if live else {}, [name])
    if live is None:
        bed.kube.create(kept.body(NS))
    else:
        data = {key: step.secret.data[key] for key in step.keys}
        bed.kube.replace({**live, "data": {**live["data"], **data}})


@pytest.mark.parametrize("how", ["lost", "overwritten"])
def test_passwords_from_before_a_rotation_work_again_after_a_restore(bed: RotationBed, how: str) -> None:
    backup = bed.kube.get(SECRET, "image-credentials", NS)
    assert backup is not None
    bed.ask("image")
    bed.settle()
    if how == "lost":
        bed.kube.delete(SECRET, "image-credentials", NS)
    restore(bed, backup)
    bed.settle()
    assert bed.failures() == []
    bed.ask("image", "2026-12-22T12:00:00Z")
    bed.settle(30)
    assert bed.failures() == []
    assert bed.rotation("image") == {}
    assert bed.texts("image-credentials")["account-suffix"] == "-3", "glance-2 has another password"


def test_names_that_are_taken_are_reported_and_not_searched_without_end(bed: RotationBed) -> None:
    bed.servers.accounts |= {(Server.BROKER, f"glance-{number}"): "" for number in range(2, 500)}
    bed.ask("image")
    bed.reconcile()
    assert bed.rotation("image")["phase"] == "Waiting"
    assert "all names for the next accounts up to glance-51 are taken" in bed.rotation("image")["message"]


def test_the_ending_of_names_is_brought_back_where_it_was_taken_out(bed: RotationBed) -> None:
    bed.ask("image")
    bed.settle()
    secret = bed.kube.get(SECRET, "image-credentials", NS)
    assert secret is not None
    del secret["data"]["account-suffix"]
    bed.kube.replace(secret)
    bed.reconcile()
    assert bed.texts("image-credentials")["account-suffix"] == "-2"
    bed.settle()
    assert bed.names("glance") == {(server, "glance-2") for server in EVERYWHERE}


@pytest.mark.slow
@pytest.mark.parametrize("seed", swept(range(25), daily=range(8)))
def test_whatever_happens_in_between_nothing_is_refused_and_one_generation_is_left(seed: int) -> None:
    bed = RotationBed()
    chance = random.Random(seed)

    def outage() -> None:
        bed.servers.down = set(chance.sample(sorted(EVERYWHERE), chance.randint(0, 1)))

    def edit() -> None:
        role = {"role": f"r{chance.randint(1, 9)}"}
        service = chance.choice(list(CHARTS))
        bed.edit(
            service, lambda values: values["endpoints"]["identity"]["auth"][CHARTS[service]].update(role)
        )

    steps = [
        *[partial(killed_by_chance, bed, chance)] * 6,
        *[lambda: bed.upgrade(chance.choice(list(CHARTS)))] * 3,
        *[lambda: bed.replace_pods(chance.choice(list(CHARTS)))] * 3,
        lambda: bed.ask(chance.choice(list(CHARTS))),
        lambda: bed.clock.advance(chance.choice((1, 60, 86400))),
        outage,
        edit,
    ]
    for _ in range(80):
        chance.choice(steps)()
        assert bed.failures() == []
    bed.servers.down = set()
    bed.settle()
    assert bed.failures() == []
    assert not bed.is_told("CredentialsEdited")
    for service, chart in CHARTS.items():
        suffix = bed.texts(f"{service}-credentials").get("account-suffix", "")
        assert bed.names(chart) == {(server, f"{chart}{suffix}") for server in EVERYWHERE}
        assert bed.rotation(service) == {}
