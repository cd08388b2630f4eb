"""Certificates between Octavia and its amphorae: made, renewed, kept, and never made again by themselves."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import (
    AMPHORA_SECRET,
    AMPHORAE_TRUST_ANNOTATION,
    AUTHORITY_TYPE,
    CLIENT_AUTHORITY_SECRET,
    SERVER_AUTHORITY_SECRET,
)
from controller.domain.credentials.amphora_certificates import AMPHORA_AUTHORITY_LIFE, mounted_certificates
from controller.domain.credentials.backup import is_kept
from controller.domain.credentials.certificate_lifetimes import DAY
from controller.domain.credentials.certificate_secrets import parse_record
from controller.domain.credentials.sealing.encrypted_keys import decrypted
from controller.domain.credentials.x509.issued import new_authority
from controller.domain.credentials.x509.read import Authority, holds, is_signed_by
from controller.domain.shared import metrics
from controller.domain.values.catalogue import AMPHORA_KEYS, CertificateRequest, CredentialSecret
from controller.domain.values.secret_refs import reserved
from controller.ports.kubernetes import OSDPL, SECRET
from controller.reconcile.credentials.steps import SOON_SECONDS, Step
from controller.reconcile.shared.status_metrics import measured_region, secret_series
from tests.fakes.metrics import FakeMetrics
from tests.fakes.world import FakeRandomness
from tests.reconcile.credentials import test_secrets
from tests.reconcile.credentials.test_own_certificates import KEYSTONE, KillOnWrite
from tests.reconcile.credentials.test_secrets import NS, REGION, RESYNC, Killed

AMPHORAE = CertificateRequest(AMPHORA_SECRET, "load-balancer", amphorae=True)
CREDENTIALS = "load-balancer-credentials"
ALL = (SERVER_AUTHORITY_SECRET, CLIENT_AUTHORITY_SECRET, AMPHORA_SECRET)
YEAR = 365.0


class Bed(test_secrets.Bed):
    """A region with Octavia."""

    wanted: tuple[CertificateRequest, ...] = (AMPHORAE,)

    def credentials_of(self, osdpl: Mapping[str, Any]) -> tuple[CredentialSecret, ...]:
        super().credentials_of(osdpl)  # refuses a broken spec
        return (CredentialSecret(CREDENTIALS, "load-balancer", {"ca-passphrase": "password"}, ("octavia",)),)

    def made(self) -> dict[str, dict[str, str]]:
        return {name: texts for name, texts in self.all_texts().items() if name in ALL}

    def shown(self) -> str:
        return mounted_certificates(self.texts(AMPHORA_SECRET)).client.chain

    def told(self) -> list[str]:
        return [reason for _, reason, _ in self.events.seen]

    def change(self, name: str, **texts: str) -> None:
        data = {key.replace("__", "."): base64.b64encode(t.encode()).decode() for key, t in texts.items()}
        secret = self.secret(name)
        assert secret
        self.kube.replace({**secret, "data": {**secret["data"], **data}})

    def ask_for_another(self, name: str) -> None:
        meta = {"name": name, "namespace": NS}
        self.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": AUTHORITY_TYPE})

    def lose(self, *names: str) -> None:
        for name in names:
            self.kube.delete(SECRET, name, NS)


@pytest.fixture
def bed() -> Bed:
    made = Bed()
    made.reconcile()
    return made


def authority(bed: Bed, name: str) -> Authority:
    found = parse_record(bed.texts(name))
    assert found
    assert found.active
    return found.active


def test_octavia_gets_two_authorities_of_its_own_and_a_certificate(bed: Bed) -> None:
    mounted = bed.texts(AMPHORA_SECRET)
    server, client = authority(bed, SERVER_AUTHORITY_SECRET), authority(bed, CLIENT_AUTHORITY_SECRET)
    assert mounted.keys() == set(AMPHORA_KEYS)
    assert mounted["server_ca.cert.pem"] == mounted["server_ca-chain.cert.pem"] == server.chain
    assert mounted["client_ca.cert.pem"] == client.chain
    assert is_signed_by(bed.shown(), client)
    assert not is_signed_by(bed.shown(), server)
    assert bed.condition()["status"] == "True"


def test_the_key_that_is_mounted_is_under_the_generated_passphrase(bed: Bed) -> None:
    mounted, passphrase = bed.texts(AMPHORA_SECRET), bed.text(CREDENTIALS, "ca-passphrase")
    assert "ENCRYPTED PRIVATE KEY" in mounted["server_ca.key.pem"]
    assert decrypted(mounted["server_ca.key.pem"], passphrase) == authority(bed, SERVER_AUTHORITY_SECRET).key
    assert decrypted(mounted["server_ca.key.pem"], passphrase + "x") == ""
    written = f"[certificates]\nca_private_key_passphrase = {passphrase}\n"
    assert mounted["passphrase.conf"] == written


@pytest.mark.parametrize("name", ALL)
def test_no_values_may_name_what_has_a_key(bed: Bed, name: str) -> None:
    assert (bed.secret(name) or {})["type"] == AUTHORITY_TYPE
    assert reserved(name)


def test_a_region_without_amphorae_has_none() -> None:
    bed = Bed()
    bed.wanted = (KEYSTONE,)
    bed.reconcile()
    assert bed.made() == {}


def test_a_pass_without_a_change_writes_nothing(bed: Bed) -> None:
    bed.reconcile()
    bed.kube.forget_requests()
    bed.days(5)
    assert [one for one in bed.kube.requests if one.verb not in ("get", "list")] == []


def test_what_octavia_shows_is_renewed_at_two_thirds_and_nothing_else_changes(bed: Bed) -> None:
    before = bed.made()
    bed.days(29.9)
    assert bed.made() == before
    bed.days(0.2)
    after = bed.made()
    changed = {key for key in AMPHORA_KEYS if after[AMPHORA_SECRET][key] != before[AMPHORA_SECRET][key]}
    assert changed == {"client.cert-and-key.pem"}
    assert after[SERVER_AUTHORITY_SECRET] == before[SERVER_AUTHORITY_SECRET]
    assert is_signed_by(bed.shown(), authority(bed, CLIENT_AUTHORITY_SECRET))
    assert bed.told()[-1] == "CertificatesRenewed"
    said = len(bed.events.seen)
    bed.days(1)
    assert (bed.made(), len(bed.events.seen)) == (after, said)


def test_ends_reach_status_and_metric(bed: Bed) -> None:
    entries = bed.region()["status"]["secrets"]
    assert entries[AMPHORA_SECRET]["expires"] == "2023-12-29T22:13:20Z"
    assert entries[SERVER_AUTHORITY_SECRET]["expires"].startswith("2033-")
    measures = FakeMetrics()
    measured_region(measures, secret_series)("MODIFIED", bed.region())
    for name in ALL:
        assert measures.value(metrics.CERTIFICATE_EXPIRY, region=REGION, secret=name) > 0


def test_the_next_server_authority_is_trusted_for_a_day_before_it_signs(bed: Bed) -> None:
    first = authority(bed, SERVER_AUTHORITY_SECRET)
    bed.days(AMPHORA_AUTHORITY_LIFE / DAY * 2 / 3)
    mounted = bed.texts(AMPHORA_SECRET)
    assert mounted["server_ca.cert.pem"] == first.chain
    both = mounted["server_ca-chain.cert.pem"]
    assert both != first.chain
    assert holds(both, first.chain)
    bed.days(0.9)
    assert bed.texts(AMPHORA_SECRET)["server_ca.cert.pem"] == first.chain
    bed.days(0.2)
    mounted = bed.texts(AMPHORA_SECRET)
    assert mounted["server_ca.cert.pem"] != first.chain
    assert mounted["server_ca-chain.cert.pem"] == both
    assert decrypted(mounted["server_ca.key.pem"], mounted["passphrase"]) == (
        authority(bed, SERVER_AUTHORITY_SECRET).key
    )
    # Amphorae from before are trusted until nothing of that authority can be valid any more.
    bed.days(2 * YEAR)
    assert holds(bed.texts(AMPHORA_SECRET)["server_ca-chain.cert.pem"], first.chain)


def test_the_next_client_authority_waits_for_an_operators_word(bed: Bed) -> None:
    first = authority(bed, CLIENT_AUTHORITY_SECRET)
    bed.days(AMPHORA_AUTHORITY_LIFE / DAY * 2 / 3)
    record = parse_record(bed.texts(CLIENT_AUTHORITY_SECRET))
    assert record
    assert record.next
    assert holds(bed.texts(AMPHORA_SECRET)["client_ca.cert.pem"], first.chain + record.next.chain)
    bed.days(300)
    assert is_signed_by(bed.shown(), first)
    assert bed.condition()["status"] == "True"
    command = bed.condition()["message"].partition("annotate --overwrite secret ")[2]
    name, _, annotation = command.partition(" ")
    key, _, mark = annotation.partition("=")
    assert (name, key) == (CLIENT_AUTHORITY_SECRET, AMPHORAE_TRUST_ANNOTATION)
    bed.kube.merge_patch(SECRET, name, NS, {"metadata": {"annotations": {key: "000000000000"}}})
    bed.reconcile()
    assert is_signed_by(bed.shown(), first)
    bed.kube.merge_patch(SECRET, name, NS, {"metadata": {"annotations": {key: mark}}})
    bed.reconcile()
    assert is_signed_by(bed.shown(), record.next)
    assert "amphorae" not in bed.condition()["message"]


def test_an_operators_word_is_not_taken_for_the_authority_after(bed: Bed) -> None:
    bed.days(AMPHORA_AUTHORITY_LIFE / DAY * 2 / 3)
    mark = bed.condition()["message"].rpartition("=")[2]
    notes = {"metadata": {"annotations": {AMPHORAE_TRUST_ANNOTATION: mark}}}
    bed.kube.merge_patch(SECRET, CLIENT_AUTHORITY_SECRET, NS, notes)
    bed.reconcile()
    second = authority(bed, CLIENT_AUTHORITY_SECRET)
    bed.days(AMPHORA_AUTHORITY_LIFE / DAY * 2 / 3)
    bed.days(1)
    assert is_signed_by(bed.shown(), second)


@pytest.mark.slow
def test_without_a_word_it_is_reported_in_time_and_done_before_the_end(bed: Bed) -> None:
    first = authority(bed, CLIENT_AUTHORITY_SECRET)
    while bed.clock.now() < 1_700_000_000 + AMPHORA_AUTHORITY_LIFE - 100 * DAY:
        bed.days(25)
    assert bed.condition()["status"] == "True"
    bed.days(20)
    assert bed.condition()["status"] == "False"
    assert "fail over their load balancers" in bed.condition()["message"]
    assert is_signed_by(bed.shown(), first)
    for _ in range(9):
        bed.days(10)
    assert not is_signed_by(bed.shown(), first)


def test_a_server_authority_that_is_lost_comes_back_from_what_pods_mount(bed: Bed) -> None:
    before = bed.made()
    bed.lose(SERVER_AUTHORITY_SECRET)
    assert bed.reconcile() == RESYNC
    after = bed.made()
    assert after[AMPHORA_SECRET] == before[AMPHORA_SECRET]
    for key in ("tls.crt", "tls.key", "passphrase"):
        assert after[SERVER_AUTHORITY_SECRET][key] == before[SERVER_AUTHORITY_SECRET][key]
    assert bed.told()[-1] == "CredentialsRestored"


def test_a_client_authority_that_is_lost_is_said_and_what_is_shown_stays(bed: Bed) -> None:
    first, shown = authority(bed, CLIENT_AUTHORITY_SECRET), bed.shown()
    bed.days(10)
    bed.lose(CLIENT_AUTHORITY_SECRET)
    assert bed.reconcile() == SOON_SECONDS
    assert bed.shown() == shown
    assert ("Warning", "AuthorityLost") in [seen[:2] for seen in bed.events.seen]
    assert holds(bed.texts(AMPHORA_SECRET)["client_ca.cert.pem"], first.chain)
    condition = bed.condition()
    assert condition["status"] == "False"
    assert (
        "created before 2023-11-24 do not trust the certificate that Octavia presents from 2023-12-24 on"
        in (condition["message"])
    )
    bed.days(29)
    assert is_signed_by(bed.shown(), first)
    bed.days(2)
    assert not is_signed_by(bed.shown(), first)
    assert bed.condition()["status"] == "True"


def test_an_operators_word_ends_what_was_lost(bed: Bed) -> None:
    first = authority(bed, CLIENT_AUTHORITY_SECRET)
    bed.lose(CLIENT_AUTHORITY_SECRET)
    bed.reconcile()
    mark = bed.condition()["message"].rpartition("=")[2]
    notes = {"metadata": {"annotations": {AMPHORAE_TRUST_ANNOTATION: mark}}}
    bed.kube.merge_patch(SECRET, CLIENT_AUTHORITY_SECRET, NS, notes)
    assert bed.reconcile() == RESYNC
    assert not is_signed_by(bed.shown(), first)


@pytest.mark.parametrize("also", [SERVER_AUTHORITY_SECRET, CLIENT_AUTHORITY_SECRET])
def test_what_nothing_is_left_of_is_not_made_again(bed: Bed, also: str) -> None:
    bed.lose(AMPHORA_SECRET, also)
    for _ in range(3):
        assert bed.reconcile() == SOON_SECONDS
        assert bed.made().keys() == set(ALL) - {AMPHORA_SECRET, also}
    condition = bed.condition()
    assert (condition["status"], condition["reason"]) == ("False", "CredentialsLost")
    assert f"--secret {also}" in condition["message"]
    assert f"create secret generic {also} --type={AUTHORITY_TYPE}" in condition["message"]


def test_it_is_not_made_again_after_a_restart_and_a_spec_that_cannot_be_served(bed: Bed) -> None:
    bed.lose(AMPHORA_SECRET, CLIENT_AUTHORITY_SECRET)
    bed.restarted(seed=5)
    bed.edit(broken=True)
    bed.reconcile()
    bed.edit(broken=False)
    bed.restarted(seed=6)
    bed.reconcile()
    assert CLIENT_AUTHORITY_SECRET not in bed.made()
    assert bed.condition()["reason"] == "CredentialsLost"


def test_an_empty_secret_asks_for_another_authority(bed: Bed) -> None:
    before = bed.made()
    bed.lose(*ALL)
    bed.reconcile()
    for name in (SERVER_AUTHORITY_SECRET, CLIENT_AUTHORITY_SECRET):
        bed.ask_for_another(name)
    bed.reconcile()
    after = bed.made()
    assert after.keys() == set(ALL)
    assert after[AMPHORA_SECRET]["server_ca.cert.pem"] != before[AMPHORA_SECRET]["server_ca.cert.pem"]
    assert not holds(
        after[AMPHORA_SECRET]["client_ca.cert.pem"], before[AMPHORA_SECRET]["client_ca.cert.pem"]
    )
    assert bed.condition()["status"] == "True"


def test_what_is_mounted_is_written_again_from_the_authorities(bed: Bed) -> None:
    before = bed.texts(AMPHORA_SECRET)
    bed.lose(AMPHORA_SECRET)
    assert bed.reconcile() == RESYNC
    after = bed.texts(AMPHORA_SECRET)
    same = {key for key in AMPHORA_KEYS if after[key] == before[key]}
    assert same == {"server_ca.cert.pem", "server_ca-chain.cert.pem", "client_ca.cert.pem"} | {
        "passphrase",
        "passphrase.conf",
    }
    assert is_signed_by(bed.shown(), authority(bed, CLIENT_AUTHORITY_SECRET))


@pytest.mark.parametrize("key", ["server_ca-chain.cert.pem", "client_ca.cert.pem", "server_ca.cert.pem"])
def test_what_others_edit_is_written_again(bed: Bed, key: str) -> None:
    before, said = bed.made(), len(bed.events.seen)
    foreign = new_authority("foreign", bed.clock.now() - DAY, bed.clock.now() + DAY, FakeRandomness(9))
    bed.change(AMPHORA_SECRET, **{key: foreign.chain})
    assert bed.reconcile() == RESYNC
    assert bed.made() == before
    assert len(bed.events.seen) == said


def test_an_authority_of_an_older_backup_is_not_taken_for_that_of_the_amphorae(bed: Bed) -> None:
    older = bed.secret(CLIENT_AUTHORITY_SECRET)
    bed.lose(CLIENT_AUTHORITY_SECRET)
    bed.reconcile()
    mark = bed.condition()["message"].rpartition("=")[2]
    notes = {"metadata": {"annotations": {AMPHORAE_TRUST_ANNOTATION: mark}}}
    bed.kube.merge_patch(SECRET, CLIENT_AUTHORITY_SECRET, NS, notes)
    bed.reconcile()
    shown, known = bed.shown(), bed.texts(AMPHORA_SECRET)["client_ca.cert.pem"]
    assert older
    bed.lose(CLIENT_AUTHORITY_SECRET)
    bed.kube.create({**older, "metadata": {k: older["metadata"][k] for k in ("name", "namespace", "labels")}})
    bed.reconcile()
    assert bed.shown() == shown
    assert holds(bed.texts(AMPHORA_SECRET)["client_ca.cert.pem"], known)
    assert bed.condition()["status"] == "False"


@pytest.mark.parametrize("name", [SERVER_AUTHORITY_SECRET, CLIENT_AUTHORITY_SECRET])
def test_an_authority_that_cannot_be_read_is_not_replaced(bed: Bed, name: str) -> None:
    bed.change(name, tls__key="none")
    before = bed.texts(AMPHORA_SECRET)
    assert bed.reconcile() == SOON_SECONDS
    assert f'Secret "{name}"' in bed.condition()["message"]
    assert bed.texts(AMPHORA_SECRET) == before


@pytest.mark.parametrize("name", ALL)
def test_a_secret_of_others_is_named_and_never_touched(name: str) -> None:
    bed = Bed()
    bed.put_secret(name, {"tls.crt": "mine"})
    assert bed.reconcile() == SOON_SECONDS
    assert bed.texts(name) == {"tls.crt": "mine"}
    assert f'Secret "{name}": another program owns a Secret of this name' in bed.condition()["message"]


def test_a_passphrase_of_the_operator_is_taken_for_a_new_key() -> None:
    bed = Bed()
    bed.put_secret("mine", {"pass": "$ecret-words"})
    own = {"load-balancer": {"ca-passphrase": {"name": "mine", "key": "pass"}}}
    bed.edit(features={"credentials": own})
    bed.reconcile()
    mounted = bed.texts(AMPHORA_SECRET)
    assert decrypted(mounted["server_ca.key.pem"], "$ecret-words")
    assert mounted["passphrase.conf"].endswith("= $$ecret-words\n")


@pytest.mark.parametrize("text", ["two\nlines", "with blank", '"quoted"', "ü", "x" * 1024])
def test_a_passphrase_that_no_file_of_options_can_hold_is_refused(text: str) -> None:
    bed = Bed()
    bed.put_secret("mine", {"pass": text})
    bed.edit(features={"credentials": {"load-balancer": {"ca-passphrase": {"name": "mine", "key": "pass"}}}})
    assert bed.reconcile() == SOON_SECONDS
    assert "cannot be written into an option file" in bed.condition()["message"]
    assert text not in bed.condition()["message"]
    assert bed.made() == {}


def test_another_passphrase_later_is_reported_and_key_and_passphrase_stay_together(bed: Bed) -> None:
    before = bed.made()
    bed.put_secret("mine", {"pass": "another"})
    bed.edit(features={"credentials": {"load-balancer": {"ca-passphrase": {"name": "mine", "key": "pass"}}}})
    bed.reconcile()
    assert bed.made() == before
    assert "the key keeps its first passphrase" in bed.condition()["message"]
    assert bed.condition()["status"] == "True"


def test_without_its_passphrase_nothing_is_made() -> None:
    bed = Bed()
    bed.edit(features={"credentials": {"load-balancer": {"ca-passphrase": {"name": "mine", "key": "pass"}}}})
    bed.reconcile()
    assert bed.made() == {}
    assert 'Secret "mine"' in bed.condition()["message"]


def test_authorities_are_kept_in_a_backup_and_what_follows_from_them_is_not(bed: Bed) -> None:
    kept = {name for name in ALL if is_kept(bed.secret(name) or {})}
    assert kept == {SERVER_AUTHORITY_SECRET, CLIENT_AUTHORITY_SECRET}


def test_a_region_that_is_restored_shows_amphorae_what_they_know(bed: Bed) -> None:
    known = bed.texts(AMPHORA_SECRET)
    kept = [bed.secret(name) or {} for name in (SERVER_AUTHORITY_SECRET, CLIENT_AUTHORITY_SECRET)]
    other = Bed()
    for one in kept:
        meta = {key: one["metadata"][key] for key in ("name", "namespace", "labels")}
        other.kube.create({**one, "metadata": meta})
    other.restarted(seed=7)
    other.reconcile()
    mounted = other.texts(AMPHORA_SECRET)
    for key in ("server_ca.cert.pem", "client_ca.cert.pem", "passphrase"):
        assert mounted[key] == known[key]
    assert is_signed_by(other.shown(), authority(bed, CLIENT_AUTHORITY_SECRET))


def test_they_stay_while_the_service_is_off_and_are_taken_up_again(bed: Bed) -> None:
    before = bed.made()
    bed.wanted = ()
    bed.days(5)
    assert bed.made() == before
    bed.wanted = (AMPHORAE,)
    bed.reconcile()
    assert bed.made() == before


def test_what_is_lost_while_the_service_is_off_is_known_when_it_is_back(bed: Bed) -> None:
    bed.wanted = ()
    bed.lose(CLIENT_AUTHORITY_SECRET, AMPHORA_SECRET)
    for _ in range(2):
        bed.reconcile()
    assert bed.condition()["status"] == "True"
    bed.wanted = (AMPHORAE,)
    bed.reconcile()
    assert CLIENT_AUTHORITY_SECRET not in bed.made()
    assert bed.condition()["reason"] == "CredentialsLost"


@pytest.mark.parametrize(("volumes", "left"), [("Retain", set(ALL)), ("Delete", set())])
def test_they_go_with_the_volumes_of_the_region(bed: Bed, volumes: str, left: set[str]) -> None:
    bed.edit(volumes=volumes)
    bed.reconcile()
    bed.kube.merge_patch(OSDPL, REGION, NS, {"metadata": {"finalizers": ["core.osctl.dev/finalizer"]}})
    bed.put_bundle("load-balancer")
    bed.kube.delete(OSDPL, REGION, NS)
    bed.reconcile()
    assert bed.made().keys() == set(ALL)
    bed.kube.delete(test_secrets.HELMBUNDLE, "load-balancer", NS)
    bed.reconcile()
    assert bed.made().keys() == left


def test_what_is_only_planned_so_far_makes_nothing() -> None:
    bed = Bed()
    bed.wanted = ()
    bed.reconcile()
    bed.wanted = (AMPHORAE,)
    bed.edit(mode="Plan")
    bed.reconcile()
    assert bed.made() == {}
    bed.edit(mode="Apply")
    bed.reconcile()
    assert bed.made().keys() == set(ALL)


def test_a_region_that_stays_in_mode_plan_has_its_certificate_renewed(bed: Bed) -> None:
    bed.edit(mode="Plan")
    shown = bed.shown()
    bed.days(31)
    assert bed.shown() != shown
    assert is_signed_by(bed.shown(), authority(bed, CLIENT_AUTHORITY_SECRET))


def test_a_paused_region_says_that_its_certificate_is_due(bed: Bed) -> None:
    before = bed.made()
    bed.edit(mode="Paused")
    bed.days(29)
    assert bed.condition()["status"] == "True"
    bed.days(2)
    assert bed.made() == before
    assert "certificates expire on 2023-12-29, and the region is paused" in bed.condition()["message"]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(1, 5))
@pytest.mark.parametrize("days", [0.0, 31.0, AMPHORA_AUTHORITY_LIFE / DAY * 0.7])
def test_a_pass_that_is_killed_anywhere_ends_where_a_whole_one_does(
    days: float, writes: int, after: bool
) -> None:
    bed = Bed()
    if days:
        bed.reconcile()
        bed.clock.advance(days * DAY)
    else:
        bed.put_secret(CREDENTIALS, {"ca-passphrase": "words"})
    killed: Any = KillOnWrite(bed.kube, writes, after=after)
    with contextlib.suppress(Killed):
        bed.take(Step.AMPHORAE, killed)
    bed.restarted(seed=9)
    for _ in range(3):
        bed.reconcile()
    bed.days(1.5)
    mounted, server = bed.texts(AMPHORA_SECRET), authority(bed, SERVER_AUTHORITY_SECRET)
    assert mounted["server_ca.cert.pem"] == server.chain
    assert decrypted(mounted["server_ca.key.pem"], mounted["passphrase"]) == server.key
    assert is_signed_by(bed.shown(), authority(bed, CLIENT_AUTHORITY_SECRET))
    bed.kube.forget_requests()
    bed.reconcile()
    assert [one for one in bed.kube.requests if one.verb not in ("get", "list")] == []


def test_neither_key_nor_passphrase_is_in_status_event_or_condition(
    bed: Bed, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    bed.days(31)
    bed.lose(CLIENT_AUTHORITY_SECRET)
    bed.reconcile()
    secret: list[str] = [bed.text(CREDENTIALS, "ca-passphrase")]
    for texts in bed.made().values():
        secret += [line for key in texts if "key" in key for line in texts[key].splitlines()]
    shown: Any = json.dumps(bed.region()) + repr(bed.events.seen) + caplog.text
    shown += json.dumps([one["metadata"] for one in bed.kube.objects("Secret")])
    assert len(secret) > 10
    assert not [line for line in secret if "-----" not in line and line in shown]
