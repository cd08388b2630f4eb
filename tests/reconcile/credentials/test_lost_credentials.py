"""Credentials that were deleted come back from Helm's records, or wait for a person; none is made again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import REVISION_LABEL
from controller.ports.helm import HelmRequest, RenderedRelease
from controller.ports.kubernetes import HELMBUNDLE, SECRET
from controller.reconcile.credentials.steps import SOON_SECONDS
from tests.fakes.kube import FakeKube, Request
from tests.fakes.stored_helm import StoredHelm
from tests.reconcile.credentials.test_secrets import NS, RESYNC, Bed, Killed, lose_region

DATABASE = "database-credentials"


def ref(name: str, key: str) -> dict[str, Any]:
    return {"$secretRef": {"name": name, "key": key}}


VALUES = {
    "mariadb": {"auth": {"root": ref(DATABASE, "root-password")}},
    "keystone": {
        "admin": ref("identity-credentials", "admin-password"),
        "root": ref(DATABASE, "root-password"),
        "replicas": 3,
    },
}


@pytest.fixture
def bed() -> Bed:
    """A region whose two releases are installed."""
    bed = Bed()
    bed.reconcile()
    for service, release in (("database", "mariadb"), ("identity", "keystone")):
        bed.put_bundle(service)
        put_release(bed, service, release, VALUES[release])
        install(bed, release)
    bed.kube.forget_requests()
    return bed


def put_release(bed: Bed, service: str, release: str, values: Mapping[str, Any]) -> None:
    """What the bundle asks for, with a status as if it were installed."""
    bundle = bed.kube.get(HELMBUNDLE, service, NS)
    assert bundle is not None
    spec = {"releases": [{"name": release, "chart": {"name": release}, "values": dict(values)}]}
    live = bed.kube.replace({**bundle, "spec": spec})
    status = {"releases": [{"name": release, "revision": 1}]}
    bed.kube.replace({**live, "status": status}, subresource="status")


def install(bed: Bed, release: str, *, ours: bool = True, **texts: str) -> None:
    """One more revision, with the texts that are there now, or with those given in their place."""
    helm = StoredHelm(bed.kube, bed.clock, lambda _: RenderedRelease((), ()), lambda *_: "Succeeded")
    before = helm.history(release, NS)
    labels = {REVISION_LABEL: str(len(before) + 1)} if ours else {}
    request = HelmRequest(release, NS, release, resolved(bed, VALUES[release], texts), labels)
    (helm.upgrade if before else helm.install)(request)


def resolved(bed: Bed, values: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(values, dict) and "$secretRef" in values:
        target = values["$secretRef"]
        return texts.get(target["key"]) or bed.texts(target["name"])[target["key"]]
    if isinstance(values, dict):
        return {key: resolved(bed, value, texts) for key, value in values.items()}
    return values


def test_a_deleted_secret_comes_back_from_helms_records(bed: Bed) -> None:
    before = bed.secret(DATABASE) or {}
    bed.kube.delete(SECRET, DATABASE, NS)
    assert bed.reconcile() == RESYNC
    after = bed.secret(DATABASE) or {}
    assert after["data"] == before["data"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert bed.condition()["status"] == "True"
    kind, reason, message = bed.events.seen[-1]
    assert (kind, reason) == ("Warning", "CredentialsRestored")
    assert "root-password" in message


def test_a_key_that_was_taken_out_of_a_secret_comes_back(bed: Bed) -> None:
    before = bed.all_texts()
    secret = bed.secret("identity-credentials") or {}
    data = {key: text for key, text in secret["data"].items() if key != "admin-password"}
    bed.kube.replace({**secret, "data": data})
    assert bed.reconcile() == RESYNC
    assert bed.all_texts() == before


def test_what_no_release_uses_stays_lost_and_the_rest_comes_back(bed: Bed) -> None:
    before = bed.texts("identity-credentials")
    bed.kube.delete(SECRET, "identity-credentials", NS)
    assert bed.reconcile() == SOON_SECONDS
    assert bed.texts("identity-credentials") == {"admin-password": before["admin-password"]}
    assert bed.condition()["reason"] == "CredentialsLost"
    assert (
        "database-password existed and is gone, and no release uses it at present"
        in bed.condition()["message"]
    )


def test_it_comes_back_although_the_region_has_been_lost_with_it(bed: Bed) -> None:
    before = bed.texts(DATABASE)
    bed.kube.delete(SECRET, DATABASE, NS)
    lose_region(bed)
    bed.reconcile()
    assert bed.texts(DATABASE) == before


def test_records_that_do_not_agree_bring_nothing_back(bed: Bed) -> None:
    install(bed, "keystone", **{"root-password": "another"})
    bed.kube.delete(SECRET, DATABASE, NS)
    assert bed.reconcile() == SOON_SECONDS
    assert bed.secret(DATABASE) is None
    assert "the records of releases differ" in bed.condition()["message"]


def test_a_record_of_other_values_is_not_believed(bed: Bed) -> None:
    put_release(bed, "database", "mariadb", {**VALUES["mariadb"], "edited": True})
    put_release(bed, "identity", "keystone", {**VALUES["keystone"], "replicas": 1})
    bed.kube.delete(SECRET, DATABASE, NS)
    bed.reconcile()
    assert bed.secret(DATABASE) is None
    assert "no release that uses it has a record of it" in bed.condition()["message"]


def test_a_revision_of_anothers_helm_is_passed_over(bed: Bed) -> None:
    before = bed.texts(DATABASE)
    install(bed, "keystone", ours=False, **{"root-password": "another"})
    bed.kube.delete(SECRET, DATABASE, NS)
    bed.reconcile()
    assert bed.texts(DATABASE) == before


def test_nothing_is_brought_back_while_the_region_is_paused(bed: Bed) -> None:
    bed.edit(mode="Paused")
    bed.kube.delete(SECRET, DATABASE, NS)
    bed.reconcile()
    assert bed.secret(DATABASE) is None
    assert "paused" in bed.condition()["message"]
    bed.edit(mode="Apply")
    bed.reconcile()
    assert bed.secret(DATABASE) is not None


def test_an_emptied_key_is_made_again_although_it_is_recorded(bed: Bed) -> None:
    before = bed.texts(DATABASE)["root-password"]
    bed.kube.delete(SECRET, DATABASE, NS)
    bed.put_secret(DATABASE, {"root-password": ""})
    bed.reconcile()
    assert bed.texts(DATABASE)["root-password"] not in ("", before)


def test_killed_while_it_restores_the_next_run_does(bed: Bed) -> None:
    before = bed.all_texts()
    bed.kube.delete(SECRET, DATABASE, NS)

    def kill(request: Request) -> None:
        raise Killed

    bed.kube.after_write = kill
    with pytest.raises(Killed):
        bed.reconcile()
    bed.kube.after_write = lambda request: None
    bed.restarted(seed=1)
    bed.reconcile()
    assert bed.all_texts() == before


def test_records_that_do_not_help_are_read_once(bed: Bed) -> None:
    bed.kube.delete(SECRET, "identity-credentials", NS)
    bed.put_secret("identity-credentials", {"admin-password": "by-hand"})
    put_release(bed, "identity", "keystone", {"only": ref("identity-credentials", "database-password")})
    bed.reconcile()
    assert records_read(bed.kube) == 1
    bed.reconcile()
    assert records_read(bed.kube) == 1
    install(bed, "keystone")
    bed.kube.forget_requests()
    bed.reconcile()
    assert records_read(bed.kube) == 2


def records_read(kube: FakeKube) -> int:
    names = [str(one.name) for one in kube.requests if one.verb == "get" and one.kind == "Secret"]
    return sum(name.startswith("sh.helm.release.v1.keystone") for name in names)


def test_no_text_is_reported(bed: Bed, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    texts = {text for secret in bed.all_texts().values() for text in secret.values()}
    bed.kube.delete(SECRET, DATABASE, NS)
    bed.kube.delete(SECRET, "identity-credentials", NS)
    bed.reconcile()
    told = json.dumps(bed.region()) + repr(bed.events.seen) + caplog.text
    assert not any(text in told for text in texts)
