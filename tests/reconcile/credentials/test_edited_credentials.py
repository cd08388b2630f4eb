"""An edited credential, or one that files do not hold as it is, is reported, and nothing waits."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import WRITTEN_ANNOTATION
from controller.ports.kubernetes import HELMBUNDLE, SECRET
from tests.reconcile.credentials.rotation_bed import RotationBed
from tests.reconcile.credentials.test_secrets import NS, RESYNC, Bed

NAME = "identity-credentials"


@pytest.fixture
def bed() -> Bed:
    made = Bed()
    made.reconcile()
    return made


def write(bed: Bed, name: str, texts: Mapping[str, str | None]) -> None:
    data = {key: text and base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    bed.kube.merge_patch(SECRET, name, NS, {"data": data})


def note(bed: Bed, text: str | None) -> None:
    bed.kube.merge_patch(SECRET, NAME, NS, {"metadata": {"annotations": {WRITTEN_ANNOTATION: text}}})


def reason(bed: Bed) -> tuple[str, str]:
    return bed.condition()["status"], bed.condition()["reason"]


def test_an_edit_is_reported_with_the_way_back_and_holds_nothing_up(bed: Bed) -> None:
    before = bed.texts(NAME)["admin-password"]
    write(bed, NAME, {"admin-password": "of-a-person"})
    assert bed.reconcile() == RESYNC
    assert reason(bed) == ("True", "CredentialsEdited")
    message = bed.condition()["message"]
    assert f'Secret "{NAME}": admin-password was edited by another client' in message
    assert f"--overwrite {NAME}" in message and f"annotate secret {NAME} {WRITTEN_ANNOTATION}-" in message
    entry = bed.region()["status"]["secrets"][NAME]
    assert entry["state"] == "Ready" and "admin-password was edited" in entry["message"]
    assert bed.events.seen[-1][:2] == ("Warning", "CredentialsEdited")
    assert "of-a-person" not in json.dumps(bed.region()) + repr(bed.events.seen)
    assert bed.texts(NAME)["admin-password"] == "of-a-person"
    write(bed, NAME, {"admin-password": before})
    bed.reconcile()
    assert reason(bed) == ("True", "SecretsReady")


def test_an_edit_is_reported_by_every_pass_and_once_by_an_event(bed: Bed) -> None:
    write(bed, NAME, {"admin-password": "of-a-person"})
    bed.reconcile()
    told = len(bed.events.seen)
    bed.kube.forget_requests()
    bed.restarted(seed=3).reconcile((NS, "region-one"))
    assert reason(bed) == ("True", "CredentialsEdited")
    assert len(bed.events.seen) == told
    assert bed.kube.writes == []


def test_an_edit_that_is_meant_is_taken_as_it_is(bed: Bed) -> None:
    write(bed, NAME, {"admin-password": "of-a-person"})
    bed.reconcile()
    note(bed, None)
    bed.reconcile()
    assert reason(bed) == ("True", "SecretsReady")
    write(bed, NAME, {"admin-password": "and-again"})
    bed.reconcile()
    assert reason(bed) == ("True", "CredentialsEdited")


@pytest.mark.parametrize("text", ["", "{}", "no record", '{"key": "0123456789abcdef", "digests": {}}'])
def test_a_record_of_another_key_is_made_again_without_a_report(bed: Bed, text: str) -> None:
    note(bed, text)
    bed.reconcile()
    assert reason(bed) == ("True", "SecretsReady")
    write(bed, NAME, {"admin-password": "of-a-person"})
    bed.reconcile()
    assert reason(bed) == ("True", "CredentialsEdited")


def test_what_others_put_beside_is_theirs_to_change(bed: Bed) -> None:
    for text in ("one", "two"):
        write(bed, NAME, {"of-mine": text})
        bed.reconcile()
        assert reason(bed) == ("True", "SecretsReady")


def test_what_is_lost_and_made_again_on_purpose_is_not_edited(bed: Bed) -> None:
    before = bed.texts(NAME)["admin-password"]
    write(bed, NAME, {"admin-password": ""})
    bed.reconcile()
    assert bed.texts(NAME)["admin-password"] not in ("", before)
    assert reason(bed) == ("True", "SecretsReady")


def test_a_region_that_is_paused_is_reported_and_nothing_is_noted(bed: Bed) -> None:
    note(bed, None)
    bed.edit(mode="Paused")
    bed.reconcile()
    assert WRITTEN_ANNOTATION not in (bed.secret(NAME) or {})["metadata"].get("annotations", {})
    bed.edit(mode="Apply")
    bed.reconcile()
    write(bed, NAME, {"admin-password": "of-a-person"})
    bed.edit(mode="Paused")
    bed.reconcile()
    assert reason(bed) == ("True", "CredentialsEdited")


def test_a_rotation_replaces_what_was_edited_and_is_no_edit_itself() -> None:
    bed = RotationBed()
    bed.edit_secret("compute-credentials", {"database-password": "of-a-person"})
    bed.reconcile()
    assert "database-password was edited" in bed.published("compute")["message"]
    bed.ask("compute")
    bed.settle()
    assert "message" not in bed.published("compute")
    assert bed.rotation("compute") == {}
    edited = [reason for _, reason, _ in bed.events.seen if reason == "CredentialsEdited"]
    assert len(edited) == 1


def test_accounts_of_a_service_that_is_gone_are_reported(bed: Bed) -> None:
    write(bed, NAME, {"account-suffix": "-2"})
    bed.put_bundle("identity")
    bed.edit(**{"with": ["database"]})
    bed.reconcile()
    assert reason(bed) == ("True", "SecretsReady")  # until its releases have gone
    bed.kube.delete(HELMBUNDLE, "identity", NS)
    assert bed.reconcile() == RESYNC
    assert reason(bed) == ("True", "AccountsLeft")
    told = 'service identity was removed; the accounts, whose names end in "-2", stay in the database and'
    assert f'Secret "{NAME}": {told}' in bed.condition()["message"]
    assert bed.region()["status"]["secrets"][NAME]["state"] == "Ready"
    assert bed.events.seen[-1][:2] == ("Normal", "AccountsLeft")
    bed.kube.delete(SECRET, NAME, NS)  # no one needs them any more
    bed.reconcile()
    assert reason(bed) == ("True", "SecretsReady")


def own(bed: Bed, text: bytes, credential: str = "admin-password") -> None:
    meta = {"name": "of-mine", "namespace": NS}
    data = {"password": base64.b64encode(text).decode()}
    bed.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data})
    named: dict[str, Any] = {"identity": {credential: {"name": "of-mine", "key": "password"}}}
    bed.edit(features={"credentials": named})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"mine\nalone", "has several lines"),
        (b"mine\x00alone", "has control characters"),
        ("mine\u200balone".encode(), "has control characters or other invisible characters"),
        (b" mine-alone", "begins or ends with a blank"),
    ],
)
def test_a_persons_text_that_files_do_not_hold_is_reported(bed: Bed, text: bytes, words: str) -> None:
    own(bed, text)
    assert bed.reconcile() == RESYNC
    assert reason(bed) == ("True", "CredentialDoubtful")
    path = "spec.features.credentials.identity.admin-password"
    said = f'Secret "of-mine": key "password", which {path} names, {words}'
    assert said in bed.condition()["message"]
    assert "alone" not in json.dumps(bed.region()["status"])


@pytest.mark.parametrize(
    ("credential", "text"),
    [("admin-password", b"m\xc3\xbcde!"), ("admin-password", b"echoed\n"), ("ssh-private-key", b"a\nb\n")],
)
def test_a_persons_text_of_any_other_kind_is_taken(bed: Bed, credential: str, text: bytes) -> None:
    own(bed, text, credential)
    bed.reconcile()
    assert reason(bed) == ("True", "SecretsReady")


def test_a_persons_text_that_is_the_end_of_a_line_only_is_missing(bed: Bed) -> None:
    own(bed, b"\n")
    bed.reconcile()
    assert reason(bed) == ("False", "SecretMissing")
    assert 'Secret "of-mine": the Secret has no key "password"' in bed.condition()["message"]
