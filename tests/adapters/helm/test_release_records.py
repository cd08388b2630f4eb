"""Helm's records, read and repaired without Helm."""

from __future__ import annotations

import base64
import gzip
import json
import logging
from typing import Any

import pytest
import yaml

from controller.adapters.helm.records.record_secrets import RECORD_TYPE
from controller.adapters.helm.records.record_texts import decode_record, encode_record
from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.api.names import (
    BUNDLE_LABEL,
    CHART_VERSION_LABEL,
    DIGEST_LABEL,
    REMOVAL_LABEL,
    REVISION_LABEL,
)
from controller.errors import ChartInvalid, Conflict, HelmFailed, ReleaseMissing
from controller.ports.kubernetes import CONFIGMAP, PVC, SECRET, STATEFULSET, KubeObject, Resource
from tests.fakes.kube import FakeKube, Request
from tests.fakes.world import FakeClock
from tests.reconcile.actions import action_lines

SPACE = "openstack"
CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: web-data, labels: {'y': 'n'}}\n"
CONFIG = "# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web  # kept\n"


def hook(
    kind: str, name: str, events: tuple[str, ...] = ("post-install",), **metadata: Any
) -> dict[str, Any]:
    version = {"Job": "batch/v1", "ClusterRole": "rbac.authorization.k8s.io/v1"}.get(kind, "v1")
    notes = {"helm.sh/hook": ",".join(events), **metadata.pop("annotations", {})}
    meta = {"name": name, "annotations": notes, **metadata}
    obj = {"apiVersion": version, "kind": kind, "metadata": meta}
    return {"name": name, "kind": kind, "events": list(events), "manifest": json.dumps(obj)}


def record(
    version: int = 1,
    status: str = "deployed",
    manifest: str = f"---\n{CONFIG}",
    release: str = "web",
    **labels: str,
) -> KubeObject:
    body = {
        "name": release,
        "info": {"status": status, "description": "at work"},
        "manifest": manifest,
        "hooks": [
            {"name": "h", "manifest": "kind: Job\nmetadata: {name: h}", "last_run": {"phase": "Running"}}
        ],
        "version": version,
        "namespace": SPACE,
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"sh.helm.release.v1.{release}.v{version}",
            "namespace": SPACE,
            "labels": {
                "owner": "helm",
                "name": release,
                "status": status,
                "version": str(version),
                "createdAt": "1700000000",
                **labels,
            },
        },
        "type": RECORD_TYPE,
        "data": {"release": encode_record(body)},
    }


def claim(name: str, **metadata: Any) -> KubeObject:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": SPACE, **metadata},
    }


def stored(kube: FakeKube, version: int = 1) -> dict[str, Any]:
    secret = kube.get(SECRET, f"sh.helm.release.v1.web.v{version}", SPACE)
    assert secret is not None
    return decode_record(secret["data"]["release"], "web")


def test_histories_come_from_labels_oldest_first() -> None:
    kube = FakeKube()
    ours = {
        DIGEST_LABEL: "abc",
        BUNDLE_LABEL: "identity",
        CHART_VERSION_LABEL: "0.1.0",
        REVISION_LABEL: "10",
        "modifiedAt": "1700000009",
    }
    kube.create(record(10, "deployed", **ours))
    kube.create(record(9, "superseded"))
    kube.create(record(1, "failed", release="other"))

    histories = SecretRecords(kube).observe(SPACE)
    assert [one.version for one in histories["web"]] == [9, 10]
    newest = histories["web"][-1]
    assert (newest.status, newest.digest, newest.bundle, newest.chart_version) == (
        "deployed",
        "abc",
        "identity",
        "0.1.0",
    )
    assert (newest.modified, newest.ours) == (1700000009.0, True)
    assert (histories["web"][0].modified, histories["web"][0].ours) == (1700000000.0, False)
    assert [one.status for one in histories["other"]] == ["failed"]


def test_a_revision_is_as_old_as_its_record_whenever_that_was_written_last() -> None:
    clock = FakeClock()
    kube = FakeKube(clock=clock)
    kube.create(record(status="pending-install"))
    made = clock.now()
    clock.advance(60)
    SecretRecords(kube).mark_failed("web", SPACE, 1, "cut off")
    (one,) = SecretRecords(kube).observe(SPACE)["web"]
    assert one.created == int(made)


def test_of_some_releases_the_whole_history_comes() -> None:
    kube = FakeKube()
    kube.create(record(1, "superseded", **{BUNDLE_LABEL: "identity"}))
    kube.create(record(2, "deployed"))
    kube.create(record(1, "deployed", release="made", **{BUNDLE_LABEL: "identity"}))
    kube.create(record(1, "deployed", release="other", **{BUNDLE_LABEL: "image"}))
    records = SecretRecords(kube)

    def versions(**chosen: Any) -> dict[str, list[int]]:
        found = records.observe(SPACE, **chosen)
        return {name: [one.version for one in revisions] for name, revisions in found.items()}

    assert versions(releases=("web",)) == {"web": [1, 2]}
    assert versions(bundle="identity", releases=("other",)) == {"web": [1, 2], "made": [1], "other": [1]}
    assert versions(bundle="nobody") == {}
    assert versions(bundle="nobody", releases=("absent",)) == {}
    assert versions(releases=[f"r{number}" for number in range(500)]).keys() >= {"web", "made", "other"}


def test_what_another_bundle_has_taken_over_shows_as_that_bundles() -> None:
    """A bundle that made an old revision must not take the release for its own, and remove it."""
    kube = FakeKube()
    kube.create(record(1, "superseded", **{BUNDLE_LABEL: "former"}))
    kube.create(record(2, "deployed", **{BUNDLE_LABEL: "present"}))

    assert SecretRecords(kube).observe(SPACE, bundle="former")["web"][-1].bundle == "present"


def test_a_copied_revision_label_does_not_make_a_revision_ours() -> None:
    kube = FakeKube()
    labels = {REVISION_LABEL: "1"}
    kube.create(record(2, **labels))

    assert SecretRecords(kube).observe(SPACE)["web"][0].ours is False


def test_what_is_no_record_is_passed_over() -> None:
    kube = FakeKube()
    kube.create({**record(1), "type": "Opaque"})
    broken = record(2)
    broken["metadata"]["labels"]["version"] = "two"
    kube.create(broken)

    assert SecretRecords(kube).observe(SPACE) == {}


@pytest.mark.parametrize("status", ["pending-install", "pending-upgrade", "pending-rollback", "uninstalling"])
def test_a_cut_off_revision_is_marked_failed(status: str) -> None:
    kube = FakeKube()
    kube.create(record(1, status, **{DIGEST_LABEL: "abc"}))

    assert SecretRecords(kube).mark_failed("web", SPACE, 1, "its writer is gone")
    after = stored(kube)
    assert after["info"] == {"status": "failed", "description": "its writer is gone"}
    assert after["hooks"][0]["last_run"]["phase"] == "Unknown"
    (newest,) = SecretRecords(kube).observe(SPACE)["web"]
    assert (newest.status, newest.digest) == ("failed", "abc")


@pytest.mark.parametrize("status", ["deployed", "failed", "superseded"])
def test_a_revision_that_has_ended_is_left_alone(status: str) -> None:
    kube = FakeKube()
    kube.create(record(status=status))
    kube.forget_requests()

    assert not SecretRecords(kube).mark_failed("web", SPACE, 1, "its writer is gone")
    assert kube.writes == []


def test_a_revision_that_moves_on_meanwhile_is_left_alone() -> None:
    kube = FakeKube()
    kube.create(record(status="pending-upgrade"))
    moved: list[Request] = []

    def helm_finishes(request: Request) -> None:
        if request.verb == "replace" and not moved:
            moved.append(request)
            kube.merge_patch(SECRET, request.name, SPACE, {"metadata": {"labels": {"status": "deployed"}}})

    kube.before_write = helm_finishes
    assert not SecretRecords(kube).mark_failed("web", SPACE, 1, "its writer is gone")
    assert SecretRecords(kube).observe(SPACE)["web"][0].status == "deployed"
    assert moved


def test_a_revision_that_is_gone_is_left_alone() -> None:
    assert not SecretRecords(FakeKube()).mark_failed("web", SPACE, 1, "its writer is gone")


def test_the_manifest_is_read_as_objects_and_hooks() -> None:
    kube = FakeKube()
    kube.create(record(manifest=f"---\n{CONFIG}---\n# only a comment\n---\n{CLAIM}"))

    rendered = SecretRecords(kube).manifest("web", SPACE, 1)
    assert [obj["kind"] for obj in rendered.manifest] == ["ConfigMap", "PersistentVolumeClaim"]
    assert [obj["metadata"]["name"] for obj in rendered.hooks] == ["h"]


def test_a_missing_revision_is_reported() -> None:
    with pytest.raises(ReleaseMissing):
        SecretRecords(FakeKube()).manifest("web", SPACE, 1)


def test_a_manifest_that_is_not_yaml_is_reported_without_quoting_it() -> None:
    kube = FakeKube()
    kube.create(record(manifest="password: [sw0rdfish\n---"))

    with pytest.raises(ChartInvalid) as caught:
        SecretRecords(kube).manifest("web", SPACE, 1)
    assert "sw0rdfish" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "%%%",
        base64.b64encode(b"not base64 inside!").decode(),
        base64.b64encode(base64.b64encode(b"\x1f\x8bgarbage")).decode(),
        base64.b64encode(base64.b64encode(gzip.compress(b"{"))).decode(),
        base64.b64encode(base64.b64encode(b"[1]")).decode(),
        base64.b64encode(base64.b64encode(gzip.compress(b"[" * 200_000))).decode(),
        base64.b64encode(base64.b64encode(gzip.compress(b" " * (65 * 1024 * 1024)))).decode(),
        encode_record({"manifest": 5}),
        encode_record({"hooks": 5}),
        encode_record({"hooks": ["a"]}),
        encode_record({"hooks": [{"manifest": []}]}),
        encode_record({"info": "deployed"}),
    ],
    ids=[
        *("empty", "no base64", "one base64", "no gzip", "cut JSON", "no object", "deep", "bomb"),
        *("manifest", "hooks", "a hook", "manifest of a hook", "info"),
    ],
)
def test_an_unreadable_record_is_an_error_of_ours(data: str) -> None:
    with pytest.raises(HelmFailed, match=r"v1\.web"):
        decode_record(data, "sh.helm.release.v1.web")


def test_claims_are_those_of_the_manifest_and_of_stateful_sets() -> None:
    kube = FakeKube()
    workload = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
    }
    kube.create(record(manifest=f"---\n{CLAIM}---\n{json.dumps(workload)}\n"))
    for name in ("web-data", "data-db-0", "data-db-12", "data-db-x", "data-dbx-0", "other"):
        kube.create(claim(name))

    assert SecretRecords(kube).claims("web", SPACE) == ("data-db-0", "data-db-12", "web-data")


def test_a_release_without_records_has_no_claims() -> None:
    assert SecretRecords(FakeKube()).claims("web", SPACE) == ()


def test_keeping_a_volume_changes_its_document_and_nothing_else() -> None:
    kube = FakeKube()
    kube.create(record(1, manifest=f"---\n{CLAIM}"))
    kube.create(record(2, manifest=f"---\n{CONFIG}---\n# Source: web/templates/b.yaml\n{CLAIM}"))
    SecretRecords(kube).keep_volumes("web", SPACE, 2, {("PersistentVolumeClaim", SPACE, "web-data")})

    manifest = stored(kube, 2)["manifest"]
    assert CONFIG.strip() in manifest  # to the letter, comments included
    assert "# Source: web/templates/b.yaml" in manifest
    config, kept = SecretRecords(kube).manifest("web", SPACE, 2).manifest
    assert kept["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert kept["metadata"]["labels"] == {"y": "n"}
    assert "annotations" not in config["metadata"]
    assert "keep" not in stored(kube, 1)["manifest"]


@pytest.mark.parametrize("volumes", [set(), {("PersistentVolumeClaim", "other", "web-data")}])
def test_volumes_that_are_not_named_stay_as_they_are(volumes: set[tuple[str, str, str]]) -> None:
    kube = FakeKube()
    kube.create(record(manifest=f"---\n{CLAIM}"))
    kube.forget_requests()
    SecretRecords(kube).keep_volumes("web", SPACE, 1, volumes)
    assert kube.writes == []


def test_a_volume_in_a_list_is_kept_as_a_document_of_its_own() -> None:
    """Of a List, Helm asks the List itself whether to keep it."""
    kube = FakeKube()
    data = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    rest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rest"}}
    both = {"apiVersion": "v1", "kind": "List", "items": [data, rest]}
    kube.create(record(manifest=f"---\n{json.dumps(both)}\n"))
    records = SecretRecords(kube)
    records.keep_volumes("web", SPACE, 1, {("PersistentVolumeClaim", SPACE, "data")})

    kept, other = (yaml.safe_load(text) for text in stored(kube, 1)["manifest"].split("---") if text.strip())
    assert kept["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert other == rest


def test_keeping_volumes_twice_writes_once() -> None:
    kube = FakeKube()
    kube.create(record(manifest=f"---\n{CLAIM}"))
    volumes = {("PersistentVolumeClaim", SPACE, "web-data")}
    SecretRecords(kube).keep_volumes("web", SPACE, 1, volumes)
    kube.forget_requests()
    SecretRecords(kube).keep_volumes("web", SPACE, 1, volumes)
    SecretRecords(kube).keep_volumes("web", SPACE, 7, volumes)
    assert kube.writes == []


def test_deleting_claims_takes_the_sets_that_would_make_them_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    kube = FakeKube()
    workload = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": SPACE},
        "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
    }
    kube.create(workload)
    for name in ("data-db-0", "web-data", "other"):
        kube.create(claim(name))
    kube.create(record(manifest=f"---\n{CLAIM}---\n{json.dumps(workload)}\n"))

    assert SecretRecords(kube).delete_claims("web", SPACE) == ("data-db-0", "web-data")
    assert kube.get(STATEFULSET, "db", SPACE) is None
    assert [(one.action, one.object, one.release) for one in action_lines(caplog)] == [
        ("delete", f"{SPACE}/{name}", "web") for name in ("db", "data-db-0", "web-data")
    ]
    assert [one["metadata"]["name"] for one in kube.list(PVC, SPACE)] == ["other"]
    assert SecretRecords(kube).delete_claims("web", SPACE) == ()


WORKLOAD = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "db", "namespace": SPACE},
    "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
}


@pytest.mark.parametrize(("resource", "made"), [(PVC, claim("web-data")), (STATEFULSET, WORKLOAD)])
def test_what_was_made_again_under_a_name_is_not_deleted_for_what_was_seen(
    resource: Resource, made: KubeObject
) -> None:
    """Whoever asks may have stood still in between."""
    kube, name = FakeKube(), made["metadata"]["name"]
    kube.create(made)
    kube.create(record(manifest=f"---\n{CLAIM}---\n{json.dumps(WORKLOAD)}\n"))
    again: list[KubeObject] = []

    def makes_again(request: Request) -> None:
        if not again and (request.verb, request.name) == ("delete", name):
            again.append(made)
            kube.delete(resource, name, SPACE)
            again.append(kube.create(made))

    kube.before_write = makes_again
    with pytest.raises(Conflict):
        SecretRecords(kube).delete_claims("web", SPACE)
    live = kube.get(resource, name, SPACE)
    assert live is not None
    assert live["metadata"]["uid"] == again[-1]["metadata"]["uid"]


def ran(hook: dict[str, Any]) -> dict[str, Any]:
    """As Helm notes it of one that has run."""
    return {**hook, "last_run": {"started_at": "2026-11-22T10:00:00Z", "phase": "Succeeded"}}


def with_hooks(version: int, *hooks: dict[str, Any]) -> KubeObject:
    secret = record(version)
    body = decode_record(secret["data"]["release"], "web")
    secret["data"]["release"] = encode_record({**body, "hooks": list(hooks)})
    return secret


def place(kube: FakeKube, hook: dict[str, Any]) -> None:
    """What the hook makes is there."""
    obj = json.loads(hook["manifest"])
    space = {} if obj["kind"] == "ClusterRole" else {"namespace": SPACE}
    kube.create({**obj, "metadata": {**space, **obj["metadata"]}})


def test_deleting_hooks_removes_what_an_uninstall_would_leave() -> None:
    kube = FakeKube()
    hooks = [
        hook("Job", "db-sync", ("post-install", "post-upgrade")),
        hook("Job", "away", namespace="other"),
        hook("Job", "farewell", ("pre-delete",)),
        hook("ConfigMap", "kept", annotations={"helm.sh/resource-policy": "keep"}),
        hook("PersistentVolumeClaim", "data"),
        hook("ClusterRole", "wide"),
        hook("Job", "gone"),
    ]
    kube.create(with_hooks(1, *(ran(one) for one in hooks)))
    for one in hooks[:-1]:
        place(kube, one)

    deleted = SecretRecords(kube).delete_hooks("web", SPACE)
    assert deleted == ("Job/db-sync", "Job/away", "ClusterRole/wide")
    left = {obj["metadata"]["name"] for obj in kube.objects() if obj["kind"] != "Secret"}
    assert left == {"farewell", "kept", "data"}
    assert SecretRecords(kube).delete_hooks("web", SPACE) == ()


@pytest.mark.parametrize("event", ["pre-upgrade", "pre-rollback", "test", "pre-delete"])
def test_deleting_hooks_leaves_what_no_hook_of_the_release_has_made(event: str) -> None:
    kube = FakeKube()
    never_run = hook("ConfigMap", "mine", (event,))
    kube.create(with_hooks(1, never_run))
    theirs = json.loads(never_run["manifest"])
    kube.create({**theirs, "metadata": {"name": "mine", "namespace": SPACE}})

    for of_the_uninstall in (False, True):
        assert SecretRecords(kube).delete_hooks("web", SPACE, of_the_uninstall=of_the_uninstall) == ()
    assert kube.get(CONFIGMAP, "mine", SPACE) is not None


def test_deleting_hooks_leaves_unmarked_hooks_that_another_release_has_run() -> None:
    kube = FakeKube()
    never_run = hook("Job", "migrate", ("pre-upgrade",))
    kube.create(with_hooks(1, never_run))
    place(kube, never_run)
    assert SecretRecords(kube).delete_hooks("web", SPACE) == ()


def test_deleting_hooks_leaves_what_others_made_in_the_place_of_one_that_has_gone() -> None:
    kube = FakeKube()
    kube.create(with_hooks(1, ran(hook("ConfigMap", "mine"))))
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": SPACE}})
    assert SecretRecords(kube).delete_hooks("web", SPACE) == ()


def test_deleting_hooks_removes_what_an_earlier_revision_ran() -> None:
    kube = FakeKube()
    setup = hook("Job", "setup", ("post-install",))
    kube.create(with_hooks(1, ran(setup)))
    kube.create(with_hooks(2, setup))
    place(kube, setup)
    assert SecretRecords(kube).delete_hooks("web", SPACE) == ("Job/setup",)


def test_deleting_hooks_removes_what_has_the_label_of_the_release() -> None:
    """Also where the record of the revision that ran it has left the history."""
    kube = FakeKube()
    setup = hook("Job", "setup", ("post-install",), labels={"release_group": "web"})
    kube.create(with_hooks(7, setup))
    place(kube, setup)
    assert SecretRecords(kube).delete_hooks("web", SPACE) == ("Job/setup",)


def test_the_values_that_were_given_are_read_from_the_record() -> None:
    kube = FakeKube()
    secret = record()
    body = decode_record(secret["data"]["release"], "web")
    secret["data"]["release"] = encode_record({**body, "config": {"a": {"b": "word"}}})
    kube.create(secret)
    kube.create(record(2))
    records = SecretRecords(kube)
    assert records.given_values("web", SPACE, 1) == {"a": {"b": "word"}}
    assert records.given_values("web", SPACE, 2) == {}
    with pytest.raises(ReleaseMissing):
        records.given_values("web", SPACE, 3)


def test_the_chart_s_own_values_lie_below_those_that_were_given() -> None:
    kube = FakeKube()
    secret = record()
    body = decode_record(secret["data"]["release"], "web")
    own = {"a": {"b": "own", "c": 1, "d": 2}, "e": {"f": 3}, "g": [1]}
    given = {"a": {"b": "word", "d": None}, "g": [2], "h": 4}
    secret["data"]["release"] = encode_record({**body, "chart": {"values": own}, "config": given})
    kube.create(secret)
    kube.create(record(2))
    records = SecretRecords(kube)
    merged = {"a": {"b": "word", "c": 1}, "e": {"f": 3}, "g": [2], "h": 4}
    assert records.effective_values("web", SPACE, 1) == merged
    assert records.effective_values("web", SPACE, 2) == {}


@pytest.mark.parametrize("odd", [{"config": [1]}, {"chart": "web"}, {"chart": {"values": [1]}}])
def test_values_that_are_no_maps_make_no_release(odd: dict[str, Any]) -> None:
    kube = FakeKube()
    secret = record()
    body = decode_record(secret["data"]["release"], "web")
    secret["data"]["release"] = encode_record({**body, **odd})
    kube.create(secret)
    with pytest.raises(HelmFailed, match="holds no release"):
        SecretRecords(kube).effective_values("web", SPACE, 1)


@pytest.mark.parametrize("status", ["deployed", "uninstalling"])
def test_our_removal_is_distinguished_from_one_by_others(status: str) -> None:
    kube = FakeKube()
    kube.create(record(status=status))
    records = SecretRecords(kube)
    assert not records.observe(SPACE)["web"][-1].removing
    records.mark_uninstalling("web", SPACE, 1)
    seen = records.observe(SPACE)["web"][-1]
    assert (seen.status, seen.removing) == ("uninstalling", True)
    kube.forget_requests()
    records.mark_uninstalling("web", SPACE, 1)
    assert kube.changes == []


def test_the_mark_of_a_removal_counts_for_its_own_revision_only() -> None:
    kube = FakeKube()
    kube.create(record(2, "uninstalling", **{REMOVAL_LABEL: "1"}))
    assert not SecretRecords(kube).observe(SPACE)["web"][-1].removing


@pytest.mark.parametrize(("phase", "begins_anew"), [("Failed", True), ("Succeeded", False)])
def test_a_removal_whose_last_hook_failed_begins_again(phase: str, begins_anew: bool) -> None:
    kube = FakeKube()
    secret = record(status="uninstalled")
    body = decode_record(secret["data"]["release"], "web")
    last = {**hook("Job", "clean", ("post-delete",)), "last_run": {"phase": phase}}
    secret["data"]["release"] = encode_record({**body, "hooks": [last]})
    kube.create(secret)
    records = SecretRecords(kube)
    records.mark_uninstalling("web", SPACE, 1)
    status = "uninstalling" if begins_anew else "uninstalled"
    assert records.removal("web", SPACE).status == status
    assert records.observe(SPACE)["web"][-1].status == status
