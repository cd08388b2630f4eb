"""An account that may only read: made in Keystone, exported, offered to others, and taken away again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from controller.domain.region.required_certificates import PUBLIC_SECRET
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, SECRET
from tests.fakes.keystone_users import FakeKeystone
from tests.fakes.kube import Request
from tests.reconcile.credentials.readers_bed import (
    COPY,
    CREDENTIALS,
    EXPORT,
    OVERLAP,
    READER,
    ReadersBed,
    readers_bed,
)
from tests.reconcile.credentials.test_secrets import NS, REGION, Killed
from tests.sweeps import swept

pytestmark = pytest.mark.slow


@pytest.fixture
def bed() -> Iterator[ReadersBed]:
    with readers_bed() as made:
        yield made


@pytest.fixture
def running(bed: ReadersBed) -> ReadersBed:
    bed.passes()
    bed.assert_in_place()
    bed.kube.forget_requests()
    bed.keystone.changes.clear()
    return bed


def test_it_has_the_role_reader_of_the_system_and_cannot_change_its_password(running: ReadersBed) -> None:
    assert running.keystone.roles(READER) == ["reader of system"]
    assert running.keystone.user(READER)["options"]["lock_password"] is True


def test_in_the_administrators_project_where_that_is_asked_for(running: ReadersBed) -> None:
    running.switch(project=True)
    running.passes()
    assert running.keystone.roles(READER) == ["reader of p-admin", "reader of system"]
    running.switch(project=False)
    running.passes()
    running.assert_in_place()


def test_what_others_get_is_a_cloud_for_each_of_its_scopes(running: ReadersBed) -> None:
    password = running.texts(CREDENTIALS)["reader-password"]
    user = {
        "auth_url": running.keystone.url,
        "username": READER,
        "user_domain_name": "default",
        "password": password,
    }
    common = {"region_name": "RegionOne", "interface": "internal", "identity_api_version": 3}
    project = {"project_name": "admin", "project_domain_name": "default"}
    system = {"auth": {**user, "system_scope": "all"}, **common}
    assert running.clouds() == {"default": system, "system": system}
    running.switch(project=True)
    running.passes()
    assert running.clouds() == {"default": {"auth": {**user, **project}, **common}, "system": system}


def public(bed: ReadersBed) -> dict[str, Any]:
    """Keystone is reached from outside, too."""
    ports = {"default": bed.keystone.port, "internal": bed.keystone.port, "public": 443}
    return {
        "host_fqdn_override": {"default": "127.0.0.1", "public": {"host": "identity.example.org"}},
        "scheme": {"default": "http", "public": "https"},
        "port": {"api": ports},
    }


def test_by_the_public_address_where_there_is_one() -> None:
    with readers_bed() as bed:
        bed.kube.delete(HELMBUNDLE, "identity", NS)
        bed.put_bundle(**public(bed))
        bed.passes()
        cloud = bed.clouds()["default"]
        assert cloud["auth"]["auth_url"] == "https://identity.example.org/v3"
        assert cloud["interface"] == "public" and "cacert" not in cloud


def put_gateway(bed: ReadersBed) -> None:
    """The region's own authority signs what the public reaches."""
    values = {"tls": {"enabled": True, "secretName": PUBLIC_SECRET}}
    release = {"name": "gateway", "chart": {"name": "gateway"}, "values": values}
    labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": "gateway"}
    meta = {"name": "gateway", "namespace": NS, "labels": labels}
    body = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta}
    bed.kube.create({**body, "spec": {"releases": [release]}})


def test_with_the_authorities_that_sign_public_endpoints() -> None:
    with readers_bed() as bed:
        put_gateway(bed)
        bed.kube.delete(HELMBUNDLE, "identity", NS)
        bed.put_bundle(**public(bed))
        bed.passes()
        assert bed.secret(EXPORT) is None
        assert 'the Secret waits for ca.crt of Secret "openstack-ca-bundle"' in bed.condition()["message"]
        bed.put_secret("openstack-ca-bundle", {"ca.crt": "-----BEGIN CERTIFICATE-----"})
        bed.passes()
        assert bed.texts(EXPORT)["ca.crt"] == "-----BEGIN CERTIFICATE-----"
        assert bed.clouds()["system"]["cacert"] == "/etc/openstack/ca.crt"


def test_a_region_that_does_not_ask_for_it_has_none(bed: ReadersBed) -> None:
    bed.switch(on=False)
    bed.passes()
    assert bed.keystone.asked == 0
    assert bed.secret(EXPORT) is None and bed.secret(CREDENTIALS) is None


def test_a_pass_without_a_change_writes_nothing_and_asks_keystone_seldom(running: ReadersBed) -> None:
    running.reconcile()
    asked = running.keystone.asked
    running.passes(5)
    assert running.keystone.asked == asked
    assert not running.kube.writes and not running.keystone.changes
    running.restarted(seed=7)
    running.clock.advance(300)
    running.passes(2, 300)
    assert running.keystone.asked > asked
    assert not running.kube.writes and not running.keystone.changes


def test_roles_that_others_take_away_come_back_and_those_that_others_give_are_reported(
    running: ReadersBed,
) -> None:
    user = running.keystone.user(READER)["id"]
    running.keystone.assigned[user].clear()
    running.keystone.give(READER, "member", "service")
    running.clock.advance(300)
    running.passes(1)
    assert running.keystone.roles(READER) == ["member of p-service", "reader of system"]
    assert "account osctl-reader, which must be read-only, has 1 more roles" in running.condition()["message"]


def test_an_account_of_that_name_that_others_made_is_left_alone(bed: ReadersBed) -> None:
    bed.keystone.add_user(READER)
    before = dict(bed.keystone.user(READER))
    bed.passes()
    assert bed.keystone.user(READER) == before
    assert bed.login()[0] == f"{READER}-2" and bed.keystone.lets_in(*bed.login())
    bed.switch(on=False)
    bed.passes()
    assert bed.keystone.names() == [READER]


def test_a_secret_of_that_name_that_something_else_made_is_not_overwritten(bed: ReadersBed) -> None:
    bed.put_secret(EXPORT, {"clouds.yaml": "mine"})
    bed.passes()
    assert bed.texts(EXPORT) == {"clouds.yaml": "mine"}
    assert bed.condition()["status"] == "False"
    assert "owns a Secret of this name" in bed.condition()["message"]
    bed.switch(on=False)
    bed.passes()
    assert bed.texts(EXPORT) == {"clouds.yaml": "mine"}


def test_one_that_is_switched_off_in_keystone_is_reported_with_the_way_on(running: ReadersBed) -> None:
    running.keystone.user(READER)["enabled"] = False
    running.clock.advance(300)
    running.passes(1)
    assert "openstack user set --enable osctl-reader" in running.condition()["message"]
    assert running.keystone.user(READER)["enabled"] is False


def test_secrets_deleted_by_hand_come_back(running: ReadersBed) -> None:
    before = running.login()
    running.kube.delete(SECRET, EXPORT, NS)
    running.kube.delete(SECRET, CREDENTIALS, NS)
    running.restarted(seed=5)
    running.passes()
    running.assert_in_place()
    assert running.login() != before and not running.keystone.lets_in(*before)


# -- Keystone is away


def test_without_keystone_it_waits_and_says_for_what(bed: ReadersBed) -> None:
    bed.keystone.down = True
    bed.passes()
    condition = bed.condition()
    assert condition["status"] == "False" and condition["reason"] == "SecretMissing"
    assert f'Secret "{EXPORT}": {bed.keystone.url} answers POST /auth/tokens with 503' in condition["message"]
    assert bed.published(EXPORT)["state"] == "Incomplete"
    bed.keystone.down = False
    bed.passes()
    bed.assert_in_place()


def test_keystone_that_is_away_is_not_asked_at_every_pass(bed: ReadersBed) -> None:
    bed.keystone.down = True
    bed.reconcile()
    asked = bed.keystone.asked
    bed.passes(3, 1.0)
    assert bed.keystone.asked == asked


def test_what_was_exported_stays_while_keystone_is_away(running: ReadersBed) -> None:
    before = running.texts(EXPORT)
    running.keystone.down = True
    running.clock.advance(300)
    running.passes()
    assert running.texts(EXPORT) == before
    assert running.condition()["status"] == "True"
    assert "with 503" in running.condition()["message"]


def test_a_password_that_keystone_does_not_take_is_reported(bed: ReadersBed) -> None:
    bed.keystone.refusing = True
    bed.passes()
    assert "does not create account osctl-reader" in bed.condition()["message"]


@pytest.mark.parametrize("mode", ["Paused", "Plan"])
def test_nothing_is_done_while_the_region_pauses(bed: ReadersBed, mode: str) -> None:
    bed.edit(mode=mode)
    bed.passes()
    assert bed.keystone.asked == 0 and bed.secret(CREDENTIALS) is None


def test_nothing_is_taken_away_while_the_region_pauses(running: ReadersBed) -> None:
    running.switch(on=False)
    running.edit(mode="Paused")
    running.passes()
    assert running.keystone.names() == [READER] and running.secret(EXPORT)


# -- others


def test_another_namespace_that_asks_gets_it_where_the_spec_offers_it(running: ReadersBed) -> None:
    running.request()
    running.passes()
    assert running.copied() == {}
    running.switch(offeredTo=[COPY])
    running.passes()
    assert running.copied() == running.exported() != {}
    running.switch(offeredTo=[])
    running.passes()
    assert running.copied() == {}
    assert "osctl.dev/shared" not in (running.secret(EXPORT) or {})["metadata"]["labels"]


# -- its end


def test_switched_off_everything_of_it_goes(running: ReadersBed) -> None:
    running.request()
    running.switch(offeredTo=[COPY])
    running.passes()
    running.switch(on=False)
    running.passes(5)
    assert running.keystone.names() == []
    assert running.secret(EXPORT) is None and running.secret(CREDENTIALS) is None
    assert running.copied() == {}
    assert {EXPORT, CREDENTIALS}.isdisjoint(running.region()["status"]["secrets"])


def test_switched_off_while_keystone_is_away_the_account_goes_once_it_is_back(running: ReadersBed) -> None:
    running.keystone.down = True
    running.switch(on=False)
    running.passes()
    assert running.secret(EXPORT) is None and running.secret(CREDENTIALS)
    assert f'"{CREDENTIALS}" stays until its account is deleted' in running.condition()["message"]
    asked = running.keystone.asked
    running.reconcile()
    assert running.keystone.asked == asked  # each time is a wait, which holds up all other credentials
    running.keystone.down = False
    running.passes(3, seconds=60.0)
    assert running.keystone.names() == [] and running.secret(CREDENTIALS) is None


def delete_region(bed: ReadersBed) -> None:
    bed.kube.merge_patch(OSDPL, REGION, NS, {"metadata": {"finalizers": ["core.osctl.dev/finalizer"]}})
    bed.kube.delete(OSDPL, REGION, NS)


def test_it_goes_with_the_region_while_its_keystone_still_runs(running: ReadersBed) -> None:
    delete_region(running)
    running.passes()
    assert running.keystone.names() == []
    assert running.secret(EXPORT) is None and running.secret(CREDENTIALS) is None


def test_of_a_region_whose_keystone_went_first_the_credentials_stay_with_its_database(
    running: ReadersBed,
) -> None:
    running.keystone.down = True
    delete_region(running)
    running.passes()
    running.kube.delete(HELMBUNDLE, "identity", NS)
    running.passes()
    assert running.secret(EXPORT) is None
    assert running.secret(CREDENTIALS) and running.keystone.names() == [READER]


# -- killed


class KilledLife:
    """From the first pass to the last, killed after the `nth` of all writes to Kubernetes and calls of
    Keystone, which is before the next one. `steps`: of which kind each of them was."""

    def __init__(self, bed: ReadersBed, nth: int) -> None:
        self.steps: list[str] = []
        self.bed = bed
        self._nth = nth
        self._at_work = False
        bed.request()
        bed.switch(offeredTo=[COPY])
        bed.readers.step = bed.kube.after_write = self._step

    def live(self) -> None:
        bed = self.bed
        self._pass(4)
        bed.assert_in_place()
        assert bed.copied() == bed.exported()
        before = bed.login()
        bed.ask()
        self._pass(5)
        assert bed.keystone.lets_in(*before) and bed.keystone.lets_in(*bed.login())
        self._pass(3, OVERLAP)
        bed.assert_in_place(f"{READER}-2")
        assert not bed.keystone.lets_in(*before)
        assert bed.copied() == bed.exported()
        bed.switch(on=False)
        self._pass(6)
        assert bed.keystone.names() == []
        assert bed.secret(EXPORT) is None and bed.secret(CREDENTIALS) is None and bed.copied() == {}

    def _pass(self, number: int, seconds: float = 11.0) -> None:
        for _ in range(number):
            self._at_work = True
            try:
                self.bed.reconcile()
            except Killed:
                self.bed.restarted(seed=self._nth)
            finally:
                self._at_work = False
            self.bed.clock.advance(seconds)

    def _step(self, write: Request | None = None) -> None:
        if not self._at_work:
            return
        self.steps.append(f"{write.verb} {write.kind}" if write else "Keystone")
        if len(self.steps) == self._nth:
            raise Killed


@pytest.mark.parametrize("first", swept(range(5), daily=(0,)))
def test_killed_after_each_step_it_ends_as_if_it_had_not_been(first: int) -> None:
    """After every fourth step from the first on. The daily case has the first and the last of each kind."""
    with readers_bed() as bed:
        whole = KilledLife(bed, 0)
        whole.live()
    kinds = whole.steps
    assert len(kinds) > 20
    firsts = {kinds.index(kind) + 1 for kind in kinds}
    lasts = {len(kinds) - kinds[::-1].index(kind) for kind in kinds}
    for nth in range(first, len(kinds) + 1, 4) if first else sorted(firsts | lasts):
        with readers_bed() as bed:
            KilledLife(bed, nth).live()


def test_cut_off_at_each_write_in_keystone_it_goes_on(bed: ReadersBed) -> None:
    count = 0

    def cut(method: str, path: str) -> None:
        nonlocal count
        count += 1
        if count % 2:
            raise FakeKeystone.CutOff

    bed.switch(project=True)
    bed.keystone.before_change = cut
    bed.passes(16)
    assert bed.keystone.roles(READER) == ["reader of p-admin", "reader of system"]
    assert bed.keystone.lets_in(*bed.login())
    assert count >= 8
