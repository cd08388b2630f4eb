"""Helm acts as the ServiceAccount that CHARTS_SERVICE_ACCOUNT names in the release's namespace."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.errors import RightMissing
from sandbox import audit
from tests.contract.conftest import Bench, make_client

pytestmark = pytest.mark.cluster

ACCOUNT = "charts"


@pytest.fixture
def charts(bench: Bench) -> Bench:
    """The bench with a client that acts as the account, which may do nothing yet."""
    bench.sandbox.kubectl("create", "serviceaccount", ACCOUNT, "-n", bench.namespace)
    environment = {"CHARTS_SERVICE_ACCOUNT": ACCOUNT}
    return replace(bench, helm=make_client(bench.sandbox, bench.kube, environment))


def test_helm_has_the_rights_of_the_account_and_no_others(charts: Bench) -> None:
    with pytest.raises(RightMissing, match=r"ServiceAccount .*/charts may not get"):
        charts.helm.install(charts.request("web"))

    _grant(charts, f"--serviceaccount={charts.namespace}:{ACCOUNT}")
    assert charts.helm.install(charts.request("web", {"data": {"colour": "red"}})).status == "deployed"
    with pytest.raises(RightMissing, match="persistentvolumeclaims"):
        charts.helm.upgrade(charts.request("web", {"claim": True}))


def test_the_account_has_the_groups_of_a_service_account(charts: Bench) -> None:
    _grant(charts, f"--group=system:serviceaccounts:{charts.namespace}")

    assert charts.helm.install(charts.request("web", {"data": {"colour": "red"}})).status == "deployed"


def test_every_write_of_an_action_is_the_accounts(charts: Bench) -> None:
    _grant(charts, f"--serviceaccount={charts.namespace}:{ACCOUNT}")
    since = audit.now()
    charts.helm.install(charts.request("web", {"data": {"colour": "red"}}))

    written = [
        one for one in audit.writes(charts.sandbox.audit_log, since) if one.namespace == charts.namespace
    ]
    helms = [
        one for one in written if one.agent.startswith("Helm/") or one.resource in ("secrets", "configmaps")
    ]
    assert {one.resource for one in helms} == {"secrets", "configmaps"}
    assert {one.user for one in helms} == {f"system:serviceaccount:{charts.namespace}:{ACCOUNT}"}


def _grant(charts: Bench, subject: str) -> None:
    place = ("-n", charts.namespace)
    charts.sandbox.kubectl("create", "role", ACCOUNT, "--verb=*", "--resource=secrets,configmaps", *place)
    charts.sandbox.kubectl("create", "rolebinding", ACCOUNT, f"--role={ACCOUNT}", subject, *place)
