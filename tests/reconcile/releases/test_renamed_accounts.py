"""Where accounts get other names, a release's Jobs run before its pods: its last ones are deleted."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from controller.adapters.helm.cancellation import CancellationToken
from controller.domain.releases.actions import Action
from controller.domain.values.account_names import renames_accounts, replaced_accounts, replaced_passwords
from controller.domain.values.chart_values import coalesced
from controller.errors import ReleaseMissing
from controller.ports.helm import RenderedRelease
from controller.ports.kubernetes import JOB
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.renamed_accounts import delete_jobs_of_renamed_accounts
from tests.fakes.kube import FakeKube

SPACE = "openstack"
HELMS = {"meta.helm.sh/release-name": "nova", "meta.helm.sh/release-namespace": SPACE}
HOOK = {"helm.sh/hook": "post-install,post-upgrade"}


def values(name: str | None, **more: Any) -> dict[str, Any]:
    return {"endpoints": {"oslo_db": {"auth": {"nova": {"username": name, **more}}}}}


def job(name: str, notes: dict[str, str]) -> dict[str, Any]:
    labels = {"release_group": "nova"}
    meta = {"name": name, "namespace": SPACE, "annotations": notes, "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta}


RENDERED = RenderedRelease((job("nova-bootstrap", HELMS),), (job("nova-db-init", HOOK),))


def left(
    before: dict[str, Any] | None, after: dict[str, Any], *, theirs: dict[str, str] | None = None
) -> list[str]:
    """The Jobs that are there when Helm begins."""
    kube = FakeKube()
    kube.create(job("nova-bootstrap", theirs or HELMS))
    kube.create(job("nova-db-init", HOOK))
    kube.create(job("nova-cell-setup-29", {}))  # a CronJob's

    def effective_values(release: str, namespace: str, version: int) -> dict[str, Any]:
        assert (release, namespace, version) == ("nova", SPACE, 4)
        if before is None:
            raise ReleaseMissing("no such revision")
        return before

    ports: Any = SimpleNamespace(kube=kube, records=SimpleNamespace(effective_values=effective_values))
    request = ActionRequest(Action.UPGRADE, "compute", "nova", SPACE, 5, resolved_values=after)
    revisions = {3: RENDERED, 4: RENDERED}
    delete_jobs_of_renamed_accounts(ports, request, RENDERED, revisions, CancellationToken())
    return [one["metadata"]["name"] for one in kube.objects(JOB.kind)]


def test_hooks_and_plain_jobs_run_again() -> None:
    assert left(values("nova"), values("nova-2")) == ["nova-cell-setup-29"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (values("nova"), values("nova")),
        (values("nova", password="one"), values("nova", password="two")),
        (values(None), values("nova")),
        ({}, values("nova")),
        (None, values("nova-2")),
    ],
)
def test_they_stay_while_no_account_has_another_name(before: Any, after: dict[str, Any]) -> None:
    assert len(left(before, after)) == 3


def test_a_job_of_others_stays() -> None:
    others = {**HELMS, "meta.helm.sh/release-name": "other"}
    assert "nova-bootstrap" in left(values("nova"), values("nova-2"), theirs=others)


def test_values_that_are_no_maps_rename_nothing() -> None:
    odd = {"endpoints": {"oslo_db": {"auth": "x"}, "identity": [], "cache": {"auth": {"a": "b"}}}}
    assert not renames_accounts(odd, odd)


def test_accounts_that_were_replaced_are_told_with_their_endpoints() -> None:
    before = coalesced(values("nova"), {"conf": {}})
    assert replaced_accounts(before, values("nova-2")) == ("nova (oslo_db)",)
    assert replaced_accounts(before, coalesced(values("nova"), values("nova"))) == ()


@pytest.mark.parametrize(
    ("values", "path", "told"),
    [
        ({"endpoints": {"oslo_db": {"auth": {"admin": {}, "sst": {}}}}}, "oslo_db.auth.admin", "oslo_db"),
        (
            {"endpoints": {"oslo_messaging": {"auth": {"user": {}, "erlang_cookie": "c"}}}},
            "oslo_messaging.auth.user",
            "oslo_messaging",
        ),
        ({"conf": {"octavia": {"service_auth": {}}}}, "", "identity"),
    ],
)
def test_pods_do_not_go_back_to_a_password_that_their_administrator_had(
    values: dict[str, Any], path: str, told: str
) -> None:
    def with_password(text: str) -> dict[str, Any]:
        whole = copy.deepcopy(values)
        part = whole["endpoints"] if path else whole["conf"]["octavia"]["service_auth"]
        for key in path.split(".") if path else ():
            part = part[key]
        part["password"] = text
        return whole

    assert replaced_passwords(with_password("one"), with_password("two")) == (f"the administrator ({told})",)
    assert replaced_passwords(with_password("one"), with_password("one")) == ()
    assert replaced_passwords(values, with_password("two")) == ()


def test_pods_do_not_go_back_to_a_password_that_their_account_had_under_the_same_name() -> None:
    def octavia(name: str, password: str) -> dict[str, Any]:
        return {"endpoints": {"identity": {"auth": {"octavia": {"username": name, "password": password}}}}}

    assert replaced_passwords(octavia("octavia", "one"), octavia("octavia", "two")) == ("octavia (identity)",)
    assert replaced_passwords(octavia("octavia", "one"), octavia("octavia", "one")) == ()
    assert replaced_passwords(octavia("octavia", "one"), octavia("mine", "two")) == ()


def test_only_jobs_log_in_as_the_administrator_of_a_service_of_others() -> None:
    one = {"endpoints": {"oslo_db": {"auth": {"admin": {"password": "one"}}}}}
    two = {"endpoints": {"oslo_db": {"auth": {"admin": {"password": "two"}}}}}
    assert replaced_passwords(one, two) == ()
