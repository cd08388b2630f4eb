"""One contract for the Kubernetes API: the real adapter keeps it, and so does the fake of the tests."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from controller.errors import Conflict, ObjectMissing, ObjectRefused, ObjectTooLarge
from controller.ports.kubernetes import EVENT, POD, SECRET
from controller.reconcile.shared.preconditioned_writes import NOTHING_READ
from tests.contract.kube_api import PROBE, Api, api
from tests.fakes.kube import FakeKube

__all__ = ["api"]


def owner_reference(owner: dict[str, Any]) -> dict[str, Any]:
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
    }


# -- reading


def test_what_is_not_there_reads_as_none(api: Api) -> None:
    assert api.kube.get(PROBE, "nobody", api.namespace) is None
    assert api.kube.list(PROBE, api.namespace) == []


def test_a_created_object_reads_back_with_what_the_server_adds(api: Api) -> None:
    created = api.kube.create(api.probe(spec={"plain": ["a"]}))
    assert api.read() == created
    assert created["spec"] == {"plain": ["a"], "size": 1}
    meta = created["metadata"]
    assert meta["generation"] == 1
    assert meta["uid"]
    assert meta["resourceVersion"]
    assert meta["creationTimestamp"].endswith("Z")


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("", ["a", "b", "c"]),
        ("tier=web", ["a"]),
        ("tier==web", ["a"]),
        ("tier!=web", ["b", "c"]),
        ("tier", ["a", "b"]),
        ("!tier", ["c"]),
        ("tier in (web,db)", ["a", "b"]),
        ("tier notin (web)", ["b", "c"]),
        ("tier in (web,db),tier!=web", ["b"]),
    ],
)
def test_labels_select(api: Api, selector: str, names: list[str]) -> None:
    for name, labels in (("a", {"tier": "web"}), ("b", {"tier": "db"}), ("c", {})):
        api.kube.create(api.secret(name, metadata={"labels": labels}))
    found = api.kube.list(SECRET, api.namespace, labels=selector)
    assert [obj["metadata"]["name"] for obj in found if obj["type"] == "Opaque"] == names


def test_fields_select(api: Api) -> None:
    for name in ("a", "b"):
        api.kube.create(api.secret(name, type="kubernetes.io/" + name))
    by_name = api.kube.list(SECRET, api.namespace, fields="metadata.name=a")
    by_type = api.kube.list(SECRET, api.namespace, fields="type=kubernetes.io/b")
    assert [obj["metadata"]["name"] for obj in by_name + by_type] == ["a", "b"]


def test_listed_objects_say_what_they_are(api: Api) -> None:
    api.kube.create(api.secret())
    (found,) = api.kube.list(SECRET, api.namespace, fields="metadata.name=one")
    assert (found["apiVersion"], found["kind"]) == ("v1", "Secret")


def test_a_list_of_metadata_has_no_content(api: Api) -> None:
    api.kube.create(api.secret(metadata={"labels": {"a": "b"}}, stringData={"password": "x"}))
    (found,) = api.kube.list_metadata(SECRET, api.namespace, labels="a=b")
    assert found["metadata"]["labels"] == {"a": "b"}
    assert "data" not in found


def test_a_list_longer_than_a_page_is_whole(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.adapters.kubernetes.client.PAGE", 2)
    names = [f"one-{number}" for number in range(5)]
    for name in names:
        api.kube.create(api.probe(name))
    assert [obj["metadata"]["name"] for obj in api.kube.list(PROBE, api.namespace)] == names
    assert len(api.kube.list_metadata(PROBE, api.namespace)) == 5


def test_events_are_selected_by_what_they_are_about(api: Api) -> None:
    for name, reason in (("web", "FailedCreate"), ("web", "SuccessfulCreate"), ("other", "FailedCreate")):
        about = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "namespace": api.namespace}
        api.kube.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{name}.{reason.lower()}", "namespace": api.namespace},
                "involvedObject": about,
                "reason": reason,
                "message": "pods are forbidden",
                "type": "Warning",
            }
        )
    fields = "involvedObject.kind=DaemonSet,involvedObject.name=web,reason=FailedCreate"
    found = api.kube.list(EVENT, api.namespace, fields=fields)
    assert [one["metadata"]["name"] for one in found] == ["web.failedcreate"]


def test_secrets_are_listed_without_those_of_a_type(api: Api) -> None:
    for name, type_ in (("record", "helm.sh/release.v1"), ("password", "Opaque")):
        meta = {"name": name, "namespace": api.namespace}
        api.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": type_})
    found = api.kube.list_metadata(SECRET, api.namespace, fields="type!=helm.sh/release.v1")
    assert [one["metadata"]["name"] for one in found] == ["password"]


def test_the_log_of_a_pod_that_is_not_there_is_empty(api: Api) -> None:
    assert api.kube.get(POD, "nobody", api.namespace) is None
    assert api.kube.pod_log("nobody", api.namespace) == ""


# -- creating and replacing


def test_creating_twice_is_a_conflict(api: Api) -> None:
    api.kube.create(api.probe())
    with pytest.raises(Conflict):
        api.kube.create(api.probe())


def test_undeclared_fields_are_refused_by_every_write(api: Api) -> None:
    with pytest.raises(ObjectRefused, match="colour"):
        api.kube.create(api.probe(spec={"colour": "red"}))
    with pytest.raises(ObjectRefused, match="colour"):
        api.apply("a", spec={"colour": "red"})
    created = api.kube.create(api.probe())
    with pytest.raises(ObjectRefused, match="colour"):
        api.kube.replace({**created, "spec": {"colour": "red"}})
    with pytest.raises(ObjectRefused, match="colour"):
        api.kube.merge_patch(PROBE, "one", api.namespace, {"spec": {"colour": "red"}})


def test_replacing_what_someone_else_changed_is_a_conflict(api: Api) -> None:
    created = api.kube.create(api.probe(spec={"size": 1}))
    api.kube.replace({**created, "spec": {"size": 2}})
    with pytest.raises(Conflict):
        api.kube.replace({**created, "spec": {"size": 3}})
    assert api.read()["spec"]["size"] == 2


def test_replacing_takes_away_what_is_left_out(api: Api) -> None:
    created = api.kube.create(api.probe(spec={"plain": ["a"]}, metadata={"labels": {"x": "y"}}))
    replaced = api.kube.replace(
        {
            **created,
            "spec": {},
            "metadata": {k: v for k, v in created["metadata"].items() if k != "labels"},
        }
    )
    assert replaced["spec"] == {"size": 1}
    assert "labels" not in replaced["metadata"]


def test_replacing_with_the_same_changes_nothing(api: Api) -> None:
    # The seed of the status is stored with the first write after the creation.
    first = api.kube.replace(api.kube.create(api.probe(spec={"size": 2})))
    assert api.kube.replace(first)["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_replacing_what_is_gone_is_distinguished_from_a_refusal(api: Api) -> None:
    created = api.kube.create(api.secret())
    api.kube.delete(SECRET, "one", api.namespace)
    with pytest.raises((ObjectMissing, Conflict)):
        api.kube.replace(created)


def test_only_changes_of_the_spec_raise_the_generation(api: Api) -> None:
    created = api.kube.create(api.probe(spec={"size": 1}))
    labelled = api.kube.merge_patch(PROBE, "one", api.namespace, {"metadata": {"labels": {"a": "b"}}})
    api.apply_status("a", state="Fine")
    resized = api.kube.merge_patch(PROBE, "one", api.namespace, {"spec": {"size": 2}})
    assert labelled
    assert resized
    generations = [obj["metadata"]["generation"] for obj in (created, labelled, resized)]
    assert generations == [1, 1, 2]


# -- merge patches


def test_a_merge_patch_sets_and_with_null_removes(api: Api) -> None:
    api.kube.create(api.probe(spec={"labels": {"a": "1", "b": "2"}}))
    patched = api.kube.merge_patch(
        PROBE, "one", api.namespace, {"spec": {"labels": {"a": None, "c": "3"}, "size": 5}}
    )
    assert patched
    assert patched["spec"] == {"labels": {"b": "2", "c": "3"}, "size": 5}


def test_patching_what_is_gone_gives_none(api: Api) -> None:
    assert api.kube.merge_patch(PROBE, "nobody", api.namespace, {"spec": {"size": 5}}) is None


def test_a_patch_with_a_version_is_conditional(api: Api) -> None:
    created = api.kube.create(api.probe())
    patch: dict[str, Any] = {"metadata": {"resourceVersion": created["metadata"]["resourceVersion"]}}
    api.kube.merge_patch(PROBE, "one", api.namespace, {**patch, "spec": {"size": 2}})
    with pytest.raises(Conflict):
        api.kube.merge_patch(PROBE, "one", api.namespace, {**patch, "spec": {"size": 3}})


# -- server-side apply


def test_applying_makes_what_is_not_there(api: Api) -> None:
    applied = api.apply("a", spec={"size": 3})
    assert applied["spec"]["size"] == 3
    assert api.read() == applied


def test_applying_the_same_again_changes_nothing(api: Api) -> None:
    parts: dict[str, Any] = {"spec": {"size": 3, "tags": ["x"]}, "metadata": {"labels": {"l": "1"}}}
    api.apply("a", **parts)  # creates; the seed of the status is stored with the next write
    first = api.apply("a", **parts)
    again = api.apply("a", **parts)
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_applying_with_a_uid_writes_to_that_very_object(api: Api) -> None:
    first = api.apply("a", spec={"size": 3})
    named = {"uid": first["metadata"]["uid"]}
    assert api.apply("a", metadata=named, spec={"size": 4})["spec"]["size"] == 4
    api.kube.delete(PROBE, "one", api.namespace)
    with pytest.raises(Conflict):
        api.apply("a", metadata=named, spec={"size": 5})
    assert api.kube.get(PROBE, "one", api.namespace) is None
    second = api.apply("b", spec={"size": 6})
    with pytest.raises(ObjectRefused):
        api.apply("a", metadata={**named, "finalizers": ["osctl.dev/a"]})
    version = {"resourceVersion": first["metadata"]["resourceVersion"]}
    with pytest.raises(Conflict):
        api.apply("a", metadata={**named, **version, "finalizers": ["osctl.dev/a"]})
    assert api.read() == second


def test_applying_as_what_was_not_there_makes_it_once_and_changes_nothing_that_is(api: Api) -> None:
    made = api.apply("a", metadata=dict(NOTHING_READ), spec={"size": 3})
    assert made["spec"]["size"] == 3
    with pytest.raises(Conflict):
        api.apply("a", metadata=dict(NOTHING_READ), spec={"size": 4})
    assert api.read()["spec"]["size"] == 3


def test_what_an_owner_leaves_out_is_removed(api: Api) -> None:
    api.apply("a", spec={"size": 3, "labels": {"x": "1", "y": "2"}})
    after = api.apply("a", spec={"labels": {"y": "2"}})
    assert after["spec"] == {"size": 1, "labels": {"y": "2"}}


def test_what_others_own_stays(api: Api) -> None:
    api.apply("a", spec={"labels": {"a": "1"}})
    api.apply("b", spec={"labels": {"b": "2"}})
    after = api.apply("a", spec={"labels": {}})
    assert after["spec"]["labels"] == {"b": "2"}


def test_what_two_own_goes_when_both_have_left_it_out(api: Api) -> None:
    api.apply("a", spec={"labels": {"x": "1", "mine": "a"}})
    api.apply("b", spec={"labels": {"x": "1", "other": "b"}})
    assert api.apply("a", spec={"labels": {"mine": "a"}})["spec"]["labels"]["x"] == "1"
    assert "x" not in api.apply("b", spec={"labels": {"other": "b"}})["spec"]["labels"]


def test_a_field_of_another_owner_is_a_conflict_unless_forced(api: Api) -> None:
    api.apply("a", spec={"labels": {"x": "1"}})
    with pytest.raises(Conflict, match="x"):
        api.apply("b", force=False, spec={"labels": {"x": "2"}})
    assert api.apply("b", spec={"labels": {"x": "2"}})["spec"]["labels"] == {"x": "2"}
    assert api.apply("a", spec={})["spec"]["labels"] == {"x": "2"}


def test_what_someone_edited_by_hand_is_taken_back_by_force(api: Api) -> None:
    api.apply("a", spec={"labels": {"x": "1"}})
    api.kube.merge_patch(PROBE, "one", api.namespace, {"spec": {"labels": {"x": "edited"}}})
    with pytest.raises(Conflict):
        api.apply("a", force=False, spec={"labels": {"x": "1"}})
    assert api.apply("a", spec={"labels": {"x": "1"}})["spec"]["labels"] == {"x": "1"}


def test_lists_are_replaced_and_sets_are_shared(api: Api) -> None:
    api.apply("a", spec={"plain": ["a"], "tags": ["a"]})
    after = api.apply("b", spec={"plain": ["b"], "tags": ["b"]})
    assert after["spec"]["plain"] == ["b"]
    assert sorted(after["spec"]["tags"]) == ["a", "b"]
    assert api.apply("a", spec={})["spec"]["tags"] == ["b"]


def test_an_atomic_map_is_replaced_whole(api: Api) -> None:
    api.apply("a", spec={"values": {"conf": {"debug": True}, "n": None}})
    after = api.apply("a", spec={"values": {"pod": 1}})
    assert after["spec"]["values"] == {"pod": 1}


def test_null_in_free_form_values_is_kept(api: Api) -> None:
    assert api.apply("a", spec={"values": {"n": None}})["spec"]["values"] == {"n": None}


def test_a_dry_run_shows_and_changes_nothing(api: Api) -> None:
    before = api.apply("a", spec={"size": 1})
    reported = api.kube.apply(api.probe(spec={"size": 9}), manager="a", dry_run=True)
    assert reported["spec"]["size"] == 9
    assert api.read() == before
    api.kube.apply(api.probe("two"), manager="a", dry_run=True)
    assert api.kube.get(PROBE, "two", api.namespace) is None


def test_finalizers_have_owners_too(api: Api) -> None:
    api.apply("a", metadata={"finalizers": ["a.osctl.dev/finalizer"]})
    both = api.apply("b", metadata={"finalizers": ["b.osctl.dev/finalizer"]})
    assert sorted(both["metadata"]["finalizers"]) == ["a.osctl.dev/finalizer", "b.osctl.dev/finalizer"]
    after = api.apply("a", metadata={})
    assert after["metadata"]["finalizers"] == ["b.osctl.dev/finalizer"]
    assert "finalizers" not in api.apply("b")["metadata"]


# -- the status


def test_the_seed_of_the_definition_is_there_from_the_start(api: Api) -> None:
    api.kube.create(api.probe())
    assert api.conditions() == {"Ready": "Unknown"}


def test_the_status_is_written_only_as_a_subresource(api: Api) -> None:
    created = api.kube.create(api.probe(spec={"size": 1}, status={"state": "Fine"}))
    assert "state" not in created.get("status", {})
    api.apply("a", spec={"size": 2}, status={"state": "Fine"})
    api.kube.merge_patch(PROBE, "one", api.namespace, {"status": {"state": "Fine"}})
    assert "state" not in api.read().get("status", {})
    written = api.kube.apply(
        api.probe(spec={"size": 7}, status={"state": "Fine"}), manager="a", subresource="status"
    )
    assert (written["status"]["state"], written["spec"]["size"]) == ("Fine", 2)


def test_conditions_of_several_managers_live_side_by_side(api: Api) -> None:
    api.kube.create(api.probe())
    api.apply_status("a", conditions=[{"type": "Ready", "status": "True"}])
    api.apply_status("b", conditions=[{"type": "Other", "status": "False"}], state="Fine")
    assert api.conditions() == {"Ready": "True", "Other": "False"}
    api.apply_status("b", conditions=[{"type": "Third", "status": "True"}])
    assert api.conditions() == {"Ready": "True", "Third": "True"}
    assert "state" not in api.read()["status"]


def test_applying_the_same_status_again_changes_nothing(api: Api) -> None:
    api.kube.create(api.probe())
    status: dict[str, Any] = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "children": {"identity": {"ready": True}},
    }
    first = api.apply_status("a", **status)
    again = api.apply_status("a", **status)
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_entries_of_a_map_in_the_status_come_and_go(api: Api) -> None:
    api.kube.create(api.probe())
    api.apply_status("a", children={"identity": {"ready": True}, "image": {"ready": False}})
    after = api.apply_status("a", children={"image": {"ready": True}})
    assert after["status"]["children"] == {"image": {"ready": True}}


def test_a_status_for_what_is_gone_is_distinguished_from_a_refusal(api: Api) -> None:
    with pytest.raises(ObjectMissing):
        api.apply_status("a", state="Fine")


def test_a_status_with_a_version_is_that_very_objects(api: Api) -> None:
    """The uid alone would not do: it is no field of a status, and not looked at."""
    first = api.kube.create(api.probe())
    meta = {key: first["metadata"][key] for key in ("uid", "resourceVersion")}
    reported = api.probe(metadata=meta, status={"state": "Fine"})
    written = api.kube.apply(reported, manager="a", subresource="status")
    assert written["status"]["state"] == "Fine"
    api.kube.delete(PROBE, "one", api.namespace)
    with pytest.raises((Conflict, ObjectMissing)):
        api.kube.apply(reported, manager="a", subresource="status")
    second = api.kube.create(api.probe())
    with pytest.raises(Conflict):
        api.kube.apply(reported, manager="a", subresource="status")
    assert api.read() == second
    del meta["resourceVersion"]
    reported = api.probe(metadata=meta, status={"state": "Fine"})
    assert api.kube.apply(reported, manager="a", subresource="status")["status"]["state"] == "Fine"


def test_the_status_can_be_replaced_and_patched(api: Api) -> None:
    created = api.kube.create(api.probe())
    api.kube.replace({**created, "status": {"state": "One"}}, subresource="status")
    assert api.read()["status"]["state"] == "One"
    patch = {"status": {"state": "Two"}}
    api.kube.merge_patch(PROBE, "one", api.namespace, patch, subresource="status")
    assert api.read()["status"]["state"] == "Two"


# -- deleting


def test_deleting_what_is_gone_says_so(api: Api) -> None:
    api.kube.create(api.probe())
    assert api.kube.delete(PROBE, "one", api.namespace)
    assert not api.kube.delete(PROBE, "one", api.namespace)
    assert api.kube.get(PROBE, "one", api.namespace) is None


def test_another_object_of_that_name_is_not_deleted(api: Api) -> None:
    first = api.kube.create(api.probe())
    api.kube.delete(PROBE, "one", api.namespace)
    api.kube.create(api.probe())
    with pytest.raises(Conflict):
        api.kube.delete(PROBE, "one", api.namespace, uid=first["metadata"]["uid"])
    assert api.read()["metadata"]["uid"] != first["metadata"]["uid"]


def test_an_object_that_was_written_to_since_is_not_deleted(api: Api) -> None:
    read = api.kube.create(api.probe())["metadata"]["resourceVersion"]
    api.kube.merge_patch(PROBE, "one", api.namespace, {"metadata": {"annotations": {"a": "b"}}})
    with pytest.raises(Conflict):
        api.kube.delete(PROBE, "one", api.namespace, version=read)
    assert api.kube.delete(PROBE, "one", api.namespace, version=api.read()["metadata"]["resourceVersion"])


def test_a_finalizer_holds_a_deleted_object(api: Api) -> None:
    api.apply("a", metadata={"finalizers": ["a.osctl.dev/finalizer"]})
    assert api.kube.delete(PROBE, "one", api.namespace)
    held = api.read()
    assert held["metadata"]["deletionTimestamp"]
    api.kube.delete(PROBE, "one", api.namespace)
    assert api.read()["metadata"]["resourceVersion"] == held["metadata"]["resourceVersion"]
    api.apply("a", metadata={})
    assert api.kube.get(PROBE, "one", api.namespace) is None


def test_what_is_owned_goes_with_its_owner(api: Api) -> None:
    owner = api.kube.create(api.probe())
    api.kube.create(api.secret("owned", metadata={"ownerReferences": [owner_reference(owner)]}))
    api.kube.create(api.secret("free"))
    api.kube.delete(PROBE, "one", api.namespace)
    api.eventually(lambda: api.kube.get(SECRET, "owned", api.namespace) is None, "the owned Secret is gone")
    assert api.kube.get(SECRET, "free", api.namespace)


def test_what_has_another_owner_stays(api: Api) -> None:
    one, two = api.kube.create(api.probe("one")), api.kube.create(api.probe("two"))
    references = [owner_reference(one), owner_reference(two)]
    api.kube.create(api.secret("owned", metadata={"ownerReferences": references}))
    api.kube.create(api.secret("marker", metadata={"ownerReferences": [owner_reference(one)]}))
    api.kube.delete(PROBE, "one", api.namespace)
    api.eventually(lambda: api.kube.get(SECRET, "marker", api.namespace) is None, "the marker is gone")
    assert api.kube.get(SECRET, "owned", api.namespace)


def test_a_kind_is_served_or_not(api: Api) -> None:
    lost = ("nothing.example.org/v1", "Nothing")
    if isinstance(api.kube, FakeKube):
        api.kube.lost_kinds.add(lost)
    assert api.kube.is_served(PROBE.api_version, PROBE.kind)
    assert api.kube.is_served("v1", "Secret")
    assert not api.kube.is_served(*lost)


@pytest.mark.parametrize("octets", [1_600_000, 2_200_000, 3_300_000], ids=["etcd", "its client", "request"])
def test_what_cannot_be_stored_for_its_size_is_refused_at_once(api: Api, octets: int) -> None:
    if isinstance(api.kube, FakeKube):
        pytest.skip("in memory there is no limit")
    with pytest.raises(ObjectTooLarge):
        api.apply("a", spec={"values": {"text": "x" * octets}})


# -- Secrets


def test_plain_text_becomes_data(api: Api) -> None:
    created = api.kube.create(api.secret(stringData={"password": "ä"}))
    assert created["data"] == {"password": base64.b64encode("ä".encode()).decode()}
    assert created["type"] == "Opaque"
    assert "stringData" not in created


def test_data_that_is_no_base64_is_refused(api: Api) -> None:
    with pytest.raises(ObjectRefused):
        api.kube.create(api.secret(data={"password": "not base64!"}))


def test_the_type_of_a_secret_cannot_change(api: Api) -> None:
    created = api.kube.create(api.secret())
    with pytest.raises(ObjectRefused, match="immutable"):
        api.kube.replace({**created, "type": "example.org/other"})


def test_an_immutable_secret_cannot_be_completed(api: Api) -> None:
    created = api.kube.create(api.secret(immutable=True, stringData={"a": "1"}))
    with pytest.raises(ObjectRefused, match="immutable"):
        api.kube.replace({**created, "data": {**created["data"], "b": "Mg=="}})


def test_keys_of_a_secret_have_owners_too(api: Api) -> None:
    one, two = {"a": "MQ=="}, {"b": "Mg=="}
    api.kube.apply(api.secret(data=one), manager="a")
    both = api.kube.apply(api.secret(data=two), manager="b")
    assert both["data"] == {**one, **two}
    assert api.kube.apply(api.secret(), manager="a")["data"] == two
