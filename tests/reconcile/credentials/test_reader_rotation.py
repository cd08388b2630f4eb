"""The account that may only read is replaced by another one, while others go on reading."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from controller.domain.api.names import ROTATE_ANNOTATION, ROTATED_ANNOTATION, ROTATION_ANNOTATION
from controller.ports.kubernetes import SECRET
from tests.reconcile.credentials.readers_bed import (
    COPY,
    CREDENTIALS,
    EXPORT,
    MONITORING,
    OVERLAP,
    READER,
    ReadersBed,
    readers_bed,
)
from tests.reconcile.credentials.test_secrets import NS

pytestmark = pytest.mark.slow

NEXT = f"{READER}-2"


@pytest.fixture
def bed() -> Iterator[ReadersBed]:
    """Monitoring has a copy."""
    with readers_bed() as made:
        made.request()
        made.switch(offeredTo=[COPY])
        made.passes()
        made.assert_in_place()
        assert made.copied() == made.exported()
        yield made


def reasons(bed: ReadersBed) -> list[str]:
    return [reason for _, reason, text in bed.events.seen if CREDENTIALS in text]


def test_asked_for_others_get_the_next_account_and_the_one_before_ends_later(bed: ReadersBed) -> None:
    before = bed.login()
    bed.ask()
    bed.passes()
    after = bed.login()
    assert after[0] == NEXT and after[1] != before[1]
    assert bed.copied() == bed.exported()
    assert bed.keystone.lets_in(*before) and bed.keystone.lets_in(*after)
    bed.passes(1, OVERLAP)
    bed.passes()
    assert not bed.keystone.lets_in(*before)
    bed.assert_in_place(NEXT)
    assert ROTATE_ANNOTATION not in bed.notes(CREDENTIALS) and ROTATED_ANNOTATION in bed.notes(CREDENTIALS)
    assert reasons(bed) == ["CredentialsRotating", "CredentialsRotated"]


def test_how_far_it_is_stands_in_the_status(bed: ReadersBed) -> None:
    bed.ask()
    phases, messages = [], []
    for _ in range(5):
        bed.passes(1)
        rotation = bed.published(CREDENTIALS).get("rotation") or {}
        phases.append(rotation.get("phase"))
        messages.append(rotation.get("message", ""))
    assert phases == ["Rolling", "Rolling", "Removing", "Removing", "Removing"]
    assert f"these copies do not have the next account yet: {COPY}" in messages
    assert "the former account stays valid until" in messages[-1]
    bed.passes(1, OVERLAP)
    bed.passes(1)
    assert "rotation" not in bed.published(CREDENTIALS) and bed.published(CREDENTIALS)["lastRotation"]


def test_the_account_before_stays_while_a_copy_cannot_be_written(bed: ReadersBed) -> None:
    copied = bed.kube.get(SECRET, "openstack", MONITORING)
    assert copied
    before = bed.login()
    bed.ask()
    bed.reconcile()
    bed.kube.before_write = lambda request: refuse(request.name)
    bed.passes(4, OVERLAP)
    assert bed.keystone.lets_in(*before)
    assert bed.published(CREDENTIALS)["rotation"]["phase"] == "Rolling"
    bed.kube.before_write = lambda _: None
    bed.passes(2)
    bed.passes(1, OVERLAP)
    bed.passes()
    bed.assert_in_place(NEXT)
    assert bed.copied() == bed.exported()


def refuse(name: str) -> None:
    from controller.errors import ObjectRefused

    if name == "openstack":
        raise ObjectRefused("a policy of its namespace")


def test_the_schedule_of_the_region_holds_for_it(bed: ReadersBed) -> None:
    account = {"readOnlyAccount": {"enabled": True, "offeredTo": [COPY]}}
    bed.edit(features={**account, "credentialRotation": {"every": "30d"}})
    bed.passes(1)
    assert bed.published(CREDENTIALS)["nextRotation"]
    assert bed.login()[0] == READER
    bed.days(30)
    bed.passes()
    assert bed.login()[0] == NEXT


def test_while_the_region_pauses_it_waits(bed: ReadersBed) -> None:
    bed.ask()
    bed.edit(mode="Paused")
    bed.passes()
    assert bed.published(CREDENTIALS)["rotation"]["phase"] == "Waiting"
    assert bed.login()[0] == READER
    bed.edit(mode="Apply")
    bed.passes()
    assert bed.login()[0] == NEXT
    bed.edit(mode="Paused")
    bed.passes(3, OVERLAP)
    assert bed.published(CREDENTIALS)["rotation"]["phase"] == "Removing"
    assert bed.keystone.names() == [READER, NEXT]


def test_while_keystone_is_away_it_waits(bed: ReadersBed) -> None:
    before = bed.login()
    bed.keystone.down = True
    bed.ask()
    bed.passes()
    rotation = bed.published(CREDENTIALS)["rotation"]
    assert rotation["phase"] == "Waiting" and "503" in rotation["message"]
    bed.keystone.down = False
    bed.passes(2)
    bed.keystone.down = True
    bed.passes(2, OVERLAP)
    assert bed.published(CREDENTIALS)["rotation"]["phase"] in ("Rolling", "Removing")
    bed.keystone.down = False
    bed.passes(1, OVERLAP)
    bed.passes()
    bed.assert_in_place(NEXT)
    assert not bed.keystone.lets_in(*before)


def test_the_name_of_anothers_account_is_left_out(bed: ReadersBed) -> None:
    bed.keystone.add_user(NEXT)
    bed.ask()
    bed.passes()
    bed.passes(1, OVERLAP)
    bed.passes()
    assert bed.login()[0] == f"{READER}-3"
    assert bed.keystone.names() == [NEXT, f"{READER}-3"]


def test_what_it_remembers_is_put_back_where_others_take_it_away(bed: ReadersBed) -> None:
    before = bed.login()
    bed.ask()
    bed.passes()
    record = bed.notes(CREDENTIALS)[ROTATION_ANNOTATION]
    bed.kube.merge_patch(SECRET, CREDENTIALS, NS, {"metadata": {"annotations": {ROTATION_ANNOTATION: None}}})
    bed.passes(1)
    assert bed.notes(CREDENTIALS)[ROTATION_ANNOTATION] == record
    assert bed.keystone.lets_in(*before)


def test_a_secret_restored_from_before_a_rotation_is_followed(bed: ReadersBed) -> None:
    secret = bed.secret(CREDENTIALS)
    assert secret
    bed.ask()
    bed.passes()
    bed.passes(1, OVERLAP)
    bed.passes()
    bed.assert_in_place(NEXT)
    there = bed.secret(CREDENTIALS)
    assert there
    bed.kube.replace({**there, "data": secret["data"]})
    bed.passes()
    bed.assert_in_place()
    assert bed.copied() == bed.exported()


def test_no_password_is_reported_anywhere(bed: ReadersBed, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    passwords = {bed.login()[1], bed.keystone.admin_password}
    bed.ask()
    bed.passes()
    passwords.add(bed.login()[1])
    bed.passes(2, OVERLAP)
    bed.keystone.down = True
    bed.passes(2, 300)
    meta = [bed.secret(name)["metadata"] for name in (EXPORT, CREDENTIALS)]  # type: ignore[index]
    told = json.dumps([bed.region(), meta, bed.events.seen, caplog.text], default=str)
    assert len(passwords) == 3
    assert not [one for one in passwords if one in told]
