"""Secrets that are exchanged with other namespaces: both sides consent, and nothing else is touched."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from controller.errors import Forbidden, ObjectRefused
from controller.ports.kubernetes import CONFIGMAP, OSDPL, SECRET, KubeObject
from controller.reconcile.credentials.steps import ELSEWHERE_SECONDS
from tests.fakes.kube import FakeKube, Request
from tests.reconcile.credentials.test_secrets import NS, REGION, RESYNC, Bed, Killed, finalize

THERE = "directory"


def put(bed: Bed, namespace: str, name: str, word: str, other: str, **texts: str) -> None:
    which = "offered-to" if word == "offer" else "requested-from"
    meta = {"name": name, "namespace": namespace, "labels": {"osctl.dev/shared": word}}
    meta["annotations"] = {f"osctl.dev/{which}": other}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": texts}
    bed.kube.create(body)


def texts(bed: Bed, namespace: str, name: str) -> dict[str, str]:
    found = bed.kube.get(SECRET, name, namespace) or {}
    return {key: base64.b64decode(text).decode() for key, text in (found.get("data") or {}).items()}


def change(bed: Bed, namespace: str, name: str, how: Callable[[KubeObject], Any]) -> None:
    found = bed.kube.get(SECRET, name, namespace)
    assert found is not None
    how(found)
    bed.kube.replace(found)


def later(bed: Bed) -> None:
    """Passes until what was deleted is not expected back any more."""
    bed.reconcile()
    bed.clock.advance(ELSEWHERE_SECONDS)
    bed.reconcile()


@pytest.fixture
def bed() -> Bed:
    """A region that asks the directory for its password, and offers it an account."""
    bed = Bed()
    put(bed, THERE, "ldap-bind", "offer", f"{NS}/ldap", password="one")
    put(bed, NS, "ldap", "request", f"{THERE}/ldap-bind")
    put(bed, NS, "reader", "offer", f"{THERE}/openstack", account="reader")
    put(bed, THERE, "openstack", "request", f"{NS}/reader")
    bed.reconcile()
    return bed


def test_what_both_sides_name_goes_both_ways(bed: Bed) -> None:
    assert texts(bed, NS, "ldap") == {"password": "one"}
    assert texts(bed, THERE, "openstack") == {"account": "reader"}
    assert bed.condition()["status"] == "True"
    assert bed.reconcile() == ELSEWHERE_SECONDS


def test_what_comes_is_not_missed_in_the_pass_that_brings_it() -> None:
    own = {"database": {"root-password": {"name": "ldap", "key": "password"}}}
    bed = Bed(features={"credentials": own})
    put(bed, THERE, "ldap-bind", "offer", f"{NS}/ldap", password="one")
    put(bed, NS, "ldap", "request", f"{THERE}/ldap-bind")
    bed.reconcile()
    assert bed.condition()["status"] == "True"


@pytest.mark.parametrize(
    ("word", "other", "told"),
    [
        ("request", "ldap-bind", "osctl.dev/requested-from must be NAMESPACE/NAME"),
        ("request", f"{NS}/reader", "osctl.dev/requested-from must be NAMESPACE/NAME"),
        ("offer", f"{THERE}/openstack,monitoring", "osctl.dev/offered-to must be NAMESPACE/NAME"),
        ("requests", f"{THERE}/ldap-bind", "osctl.dev/shared is neither offer nor request"),
    ],
)
def test_an_unreadable_record_is_reported(bed: Bed, word: str, other: str, told: str) -> None:
    put(bed, NS, "mistaken", word, other)
    bed.reconcile()
    assert told in bed.condition()["message"]
    assert (bed.condition()["status"] == "False") is (word == "request")
    assert texts(bed, THERE, "openstack") == {"account": "reader"}


def test_a_pass_without_a_change_writes_nothing(bed: Bed) -> None:
    bed.kube.forget_requests()
    bed.restarted().reconcile((NS, REGION))
    assert bed.kube.writes == []


def test_a_stale_copy_is_brought_up_to_date(bed: Bed) -> None:
    change(bed, THERE, "ldap-bind", lambda one: one.update(stringData={"password": "two"}))
    change(bed, NS, "reader", lambda one: one.update(data={}))
    bed.reconcile()
    assert texts(bed, NS, "ldap") == {"password": "two"}
    assert texts(bed, THERE, "openstack") == {}


def test_what_is_not_offered_any_more_is_taken_back_and_reported(bed: Bed) -> None:
    bed.kube.delete(SECRET, "ldap-bind", THERE)
    change(bed, NS, "reader", lambda one: one["metadata"].update(labels={}))
    later(bed)
    assert texts(bed, NS, "ldap") == texts(bed, THERE, "openstack") == {}
    assert (bed.condition()["status"], bed.condition()["reason"]) == ("False", "SecretMissing")
    assert f"{THERE}/ldap-bind, which" in bed.condition()["message"]


def test_what_a_store_deletes_and_makes_again_is_never_missed(bed: Bed) -> None:
    offers = {(THERE, "ldap-bind"): (NS, "ldap"), (NS, "reader"): (THERE, "openstack")}
    before = {copy: texts(bed, *copy) for copy in offers.values()}
    for namespace, name in offers:
        bed.kube.delete(SECRET, name, namespace)
    bed.kube.forget_requests()
    bed.reconcile()
    assert {copy: texts(bed, *copy) for copy in offers.values()} == before
    assert bed.condition()["status"] == "True"
    assert (
        f"Secret {THERE}/ldap-bind is gone; its copy {NS}/ldap is emptied if" in (bed.condition()["message"])
    )
    put(bed, THERE, "ldap-bind", "offer", f"{NS}/ldap", password="one")
    put(bed, NS, "reader", "offer", f"{THERE}/openstack", account="reader")
    bed.clock.advance(ELSEWHERE_SECONDS)
    bed.reconcile()
    assert {copy: texts(bed, *copy) for copy in offers.values()} == before
    assert [one.name for one in bed.kube.writes if one.kind == "Secret" and one.verb == "replace"] == []
    assert "is gone" not in bed.condition()["message"]


def test_an_offer_that_is_there_again_is_waited_for_again_when_it_goes_again(bed: Bed) -> None:
    bed.kube.delete(SECRET, "ldap-bind", THERE)
    bed.reconcile()
    put(bed, THERE, "ldap-bind", "offer", f"{NS}/ldap", password="one")
    bed.clock.advance(ELSEWHERE_SECONDS)
    bed.reconcile()
    bed.kube.delete(SECRET, "ldap-bind", THERE)
    bed.reconcile()
    assert texts(bed, NS, "ldap") == {"password": "one"}


def test_a_secret_that_goes_while_it_is_written_is_no_end_of_the_region(bed: Bed) -> None:
    def vanish(request: Request) -> None:
        if (request.kind, request.name, request.verb) == ("Secret", "ldap", "replace"):
            bed.kube.before_write = lambda request: None
            bed.kube.delete(SECRET, "ldap", NS)

    change(bed, THERE, "ldap-bind", lambda one: one.update(stringData={"password": "two"}))
    bed.kube.before_write = vanish
    assert bed.reconcile() == ELSEWHERE_SECONDS


def test_a_copy_elsewhere_is_emptied_although_its_offer_was_deleted(bed: Bed) -> None:
    bed.kube.delete(SECRET, "reader", NS)
    bed.restarted(seed=1)
    later(bed)
    assert texts(bed, THERE, "openstack") == {}
    record = bed.kube.get(CONFIGMAP, "osctl-copies", NS)
    assert record is not None and not record["data"]


@pytest.mark.parametrize("name", ["another", "zebra"])
def test_of_two_offers_to_one_target_the_one_that_it_asks_for_is_copied(bed: Bed, name: str) -> None:
    put(bed, NS, name, "offer", f"{THERE}/openstack", account="next")
    bed.reconcile()
    assert texts(bed, THERE, "openstack") == {"account": "reader"}
    assert "openstack does not ask" not in bed.condition()["message"]
    asks = {"osctl.dev/requested-from": f"{NS}/{name}"}
    change(bed, THERE, "openstack", lambda one: one["metadata"]["annotations"].update(asks))
    bed.reconcile()
    assert texts(bed, THERE, "openstack") == {"account": "next"}


@pytest.mark.parametrize("asked", ["reader", "third"])
def test_what_is_not_offered_any_more_is_taken_back_though_another_is_offered_there(
    bed: Bed, asked: str
) -> None:
    put(bed, NS, "another", "offer", f"{THERE}/openstack", account="another")
    asks = {"osctl.dev/requested-from": f"{NS}/{asked}"}
    change(bed, THERE, "openstack", lambda one: one["metadata"]["annotations"].update(asks))
    bed.kube.delete(SECRET, "reader", NS)
    later(bed)
    assert texts(bed, THERE, "openstack") == {}
    bed.reconcile()
    assert "openstack does not ask for" in bed.condition()["message"]


def test_with_the_region_copies_are_emptied(bed: Bed) -> None:
    finalize(bed, ["core.osctl.dev/finalizer"])
    bed.kube.delete(OSDPL, REGION, NS)
    bed.reconcile()
    assert texts(bed, NS, "ldap") == texts(bed, THERE, "openstack") == {}
    assert texts(bed, THERE, "ldap-bind") == {"password": "one"}


def test_a_secret_that_does_not_ask_is_not_touched(bed: Bed) -> None:
    put(bed, NS, "licence", "offer", f"{THERE}/theirs", key="ours")
    meta = {"name": "theirs", "namespace": THERE}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"a": "b"}}
    bed.kube.create(body)
    bed.reconcile()
    assert texts(bed, THERE, "theirs") == {"a": "b"}
    # The region is not the worse for it.
    assert bed.condition()["status"] == "True"
    assert f"Secret {THERE}/theirs does not ask for {NS}/licence" in bed.condition()["message"]


def why(bed: Bed, namespace: str, name: str) -> str:
    found = bed.kube.get(SECRET, name, namespace) or {"metadata": {}}
    return str((found["metadata"].get("annotations") or {}).get("osctl.dev/not-copied", ""))


def test_the_requested_secret_says_why_it_is_empty_until_it_is_filled(bed: Bed) -> None:
    put(bed, NS, "licence", "request", f"{THERE}/licence")
    bed.reconcile()
    assert why(bed, NS, "licence") == f"Secret {THERE}/licence, which {NS}/licence requests, does not exist"
    put(bed, THERE, "licence", "offer", f"{NS}/another", key="text")
    bed.reconcile()
    assert f"Secret {THERE}/licence is not offered to {NS}/licence; its owner can" in why(bed, NS, "licence")
    bed.kube.forget_requests()
    bed.reconcile()
    assert bed.kube.writes == []
    notes = {"osctl.dev/offered-to": f"{NS}/licence"}
    change(bed, THERE, "licence", lambda one: one["metadata"].update(annotations=notes))
    bed.reconcile()
    assert texts(bed, NS, "licence") == {"key": "text"} and why(bed, NS, "licence") == ""


def test_who_has_a_copy_of_the_regions_reads_there_that_it_was_taken_back(bed: Bed) -> None:
    change(bed, NS, "reader", lambda one: one["metadata"].update(labels={}))
    bed.reconcile()
    assert why(bed, THERE, "openstack") == f"Secret {NS}/reader is not offered to {THERE}/openstack any more"


def test_one_with_content_of_its_own_is_reported_and_keeps_it(bed: Bed) -> None:
    put(bed, THERE, "theirs", "request", f"{NS}/licence", own="text")
    put(bed, NS, "licence", "offer", f"{THERE}/theirs", key="ours")
    bed.reconcile()
    assert "has other content, which is not overwritten" in why(bed, THERE, "theirs")
    assert texts(bed, THERE, "theirs") == {"own": "text"}


def deny(kube: FakeKube, namespace: str) -> None:
    """The chart's values do not name the namespace any more."""
    get = kube.get

    def denied(resource: Any, name: str, where: str | None = None) -> Any:
        if where == namespace:
            raise Forbidden(f"no right in {where}")
        return get(resource, name, where)

    kube.get = denied  # type: ignore[method-assign]


def test_without_the_right_to_look_a_copy_stays_and_the_way_is_reported(bed: Bed) -> None:
    deny(bed.kube, THERE)
    bed.reconcile()
    assert texts(bed, NS, "ldap") == {"password": "one"}
    message = bed.condition()["message"]
    assert "the Secret requests Secret directory/ldap-bind" in message and "exchange.namespaces" in message
    assert "openstack/reader is offered to directory/openstack" in message


def test_what_the_api_server_refuses_is_reported_without_its_words(bed: Bed) -> None:
    def refuse(request: Request) -> None:
        if request.kind == "Secret" and request.verb == "replace":
            raise ObjectRefused("the text: one")

    change(bed, THERE, "ldap-bind", lambda one: one.update(stringData={"password": "two"}))
    bed.kube.before_write = refuse
    bed.reconcile()
    assert 'Secret "ldap": the API server refuses' in bed.condition()["message"]
    assert "the text" not in bed.condition()["message"]


@pytest.mark.parametrize("mode", ["Paused", "Plan"])
def test_nothing_is_copied_while_nothing_may_be_written(bed: Bed, mode: str) -> None:
    bed.edit(mode=mode)
    change(bed, THERE, "ldap-bind", lambda one: one.update(stringData={"password": "two"}))
    bed.reconcile()
    assert texts(bed, NS, "ldap") == {"password": "one"}


@pytest.mark.parametrize("nth", range(1, 6))
def test_killed_at_any_write_the_next_run_ends_where_one_run_would(nth: int) -> None:
    bed = Bed()
    bed.reconcile()
    put(bed, NS, "reader", "offer", f"{THERE}/openstack", account="reader")
    put(bed, THERE, "openstack", "request", f"{NS}/reader")
    count = 0

    def kill(request: Request) -> None:
        nonlocal count
        count += 1
        if count == nth:
            raise Killed

    bed.kube.after_write = kill
    try:
        bed.reconcile()
        bed.kube.delete(SECRET, "reader", NS)
        later(bed)
    except Killed:
        pass
    bed.kube.after_write = lambda request: None
    bed.kube.delete(SECRET, "reader", NS)
    bed.restarted(seed=1)
    later(bed)
    assert texts(bed, THERE, "openstack") == {}


def test_a_region_without_an_exchange_looks_no_oftener() -> None:
    assert Bed().reconcile() == RESYNC
