"""osctl history, rollback, reconcile, suspend and resume against an API server in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.cli.cluster import Cluster
from controller.cli.release_waiting import Request, wait_for_releases
from controller.cli.targets import find_targets
from controller.domain.api.names import API_VERSION, DEPLOYMENT_LABEL
from controller.domain.releases.requests import is_suspended, requests_of
from controller.ports.kubernetes import HELMBUNDLE, OSDPL
from tests.cli.commands.test_apply import CRDS
from tests.cli.objects import osctl
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock


@pytest.fixture
def kube(monkeypatch: pytest.MonkeyPatch) -> FakeKube:
    fake = FakeKube()
    for crd in CRDS:
        fake.serve(crd)

    def open_fake(_: Path | None, __: str, namespace: str) -> Cluster:
        return Cluster(fake, namespace)

    for module in ("on_cluster", "commands.releases.history", "commands.releases.rollback"):
        monkeypatch.setattr(f"controller.cli.{module}.open_cluster", open_fake)
    spec = {"openstackVersion": "2026.1", "preset": "core", "size": "single", "publicDomainName": "x.org"}
    fake.create(
        {
            "apiVersion": API_VERSION,
            "kind": "OpenStackDeployment",
            "metadata": {"name": "region-one", "namespace": "openstack"},
            "spec": spec,
        }
    )
    bundle(fake, "compute", "nova", "libvirt", labels={DEPLOYMENT_LABEL: "region-one"})
    bundle(fake, "caches", "memcached")
    return fake


def bundle(kube: FakeKube, name: str, *releases: str, namespace: str = "openstack", **meta: Any) -> None:
    kube.create(
        {
            "apiVersion": API_VERSION,
            "kind": "HelmBundle",
            "metadata": {"name": name, "namespace": namespace, **meta},
            "spec": {"releases": [{"name": one, "chart": {"name": one, "path": one}} for one in releases]},
        }
    )


def annotations(kube: FakeKube, name: str) -> dict[str, str]:
    found = kube.get(HELMBUNDLE, name, "openstack")
    assert found is not None
    return found["metadata"].get("annotations") or {}


def revision(kube: FakeKube, version: int, status: str, **labels: str) -> None:
    own = {
        "owner": "helm",
        "name": "nova",
        "version": str(version),
        "status": status,
        "modifiedAt": "1772355600",
        "osctl.dev/revision": str(version),
        "osctl.dev/chart-version": "2026.1.0",
        "osctl.dev/digest": "ab" * 20,
        **{key.replace("_", "-"): text for key, text in labels.items()},
    }
    kube.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "helm.sh/release.v1",
            "metadata": {
                "name": f"sh.helm.release.v1.nova.v{version}",
                "namespace": "openstack",
                "labels": own,
            },
        }
    )


def three_revisions(kube: FakeKube) -> None:
    revision(kube, 1, "superseded")
    revision(kube, 2, "failed")
    revision(kube, 3, "superseded", **{"osctl.dev/revision": "9"})
    revision(kube, 4, "deployed", **{"osctl.dev/rolled-back-to": "1.4"})


def test_history_lists_the_revisions_and_what_is_special_about_them(kube: FakeKube):
    three_revisions(kube)
    result = osctl("history", "nova")
    assert result.exit_code == 0
    assert [line.split(maxsplit=5) for line in result.stdout.splitlines()] == [
        ["REVISION", "UPDATED", "STATUS", "CHART", "DIGEST", "NOTE"],
        ["1", "2026-03-01T09:00:00Z", "superseded", "2026.1.0", "abababababab"],
        ["2", "2026-03-01T09:00:00Z", "failed", "2026.1.0", "abababababab"],
        ["3", "2026-03-01T09:00:00Z", "superseded", "2026.1.0", "abababababab", "not by the controller"],
        ["4", "2026-03-01T09:00:00Z", "deployed", "2026.1.0", "abababababab", "rollback to 1"],
    ]
    data = json.loads(osctl("history", "nova", "-o", "json").stdout)
    assert [one["revision"] for one in data] == [1, 2, 3, 4]


def test_a_release_that_is_not_there_is_named_with_the_nearest(kube: FakeKube):
    result = osctl("history", "nvoa")
    assert result.exit_code == 6
    assert 'there is no release "nvoa"; did you mean "nova"?' in result.stderr


def test_a_release_that_is_there_twice_needs_a_namespace(kube: FakeKube):
    bundle(kube, "compute", "nova", namespace="elsewhere")
    result = osctl("rollback", "nova")
    assert result.exit_code == 6
    assert 'choose a namespace with -n: "elsewhere", "openstack"' in result.stderr
    assert osctl("history", "nova", "-n", "openstack").exit_code == 0


def test_rollback_asks_for_the_last_revision_in_force_before_the_newest(kube: FakeKube):
    three_revisions(kube)
    assert osctl("rollback", "nova").exit_code == 0
    assert requests_of(annotations(kube, "compute"), "nova").rollback_revision == 3
    assert osctl("rollback", "nova", "1").exit_code == 0
    assert requests_of(annotations(kube, "compute"), "nova").rollback_revision == 1


def test_a_second_rollback_to_the_same_revision_is_a_new_request(kube: FakeKube):
    three_revisions(kube)
    osctl("rollback", "nova", "1")
    first = requests_of(annotations(kube, "compute"), "nova").rollback
    osctl("rollback", "nova", "1")
    assert requests_of(annotations(kube, "compute"), "nova").rollback != first


@pytest.mark.parametrize("wanted", ["2", "7"])
def test_rollback_to_a_revision_that_failed_or_is_not_there_is_refused(kube: FakeKube, wanted: str):
    three_revisions(kube)
    result = osctl("rollback", "nova", wanted)
    assert result.exit_code == 6
    assert "it has: 1, 3, 4" in result.stderr
    assert annotations(kube, "compute") == {}


def test_reconcile_asks_the_region_a_bundle_or_a_release(kube: FakeKube):
    assert osctl("reconcile").exit_code == 0
    region = kube.get(OSDPL, "region-one", "openstack")
    assert region is not None and "osctl.dev/reconcile-requested-at" in region["metadata"]["annotations"]
    assert osctl("reconcile", "--bundle", "compute", "--release", "memcached").exit_code == 0
    assert requests_of(annotations(kube, "compute"), "libvirt").reconcile
    assert requests_of(annotations(kube, "caches"), "memcached").reconcile
    assert osctl("reconcile", "--release", "nova", "--force").exit_code == 0
    assert requests_of(annotations(kube, "compute"), "nova").force
    assert not requests_of(annotations(kube, "compute"), "libvirt").force


@pytest.mark.parametrize(
    "arguments", [("reconcile", "--force"), ("reconcile", "region-one", "--release", "nova")]
)
def test_a_wrong_command_line_changes_nothing(kube: FakeKube, arguments: tuple[str, ...]):
    kube.forget_requests()
    assert osctl(*arguments).exit_code == 2
    assert kube.writes == []


def test_a_region_is_suspended_and_goes_back_to_the_mode_it_had(kube: FakeKube):
    kube.merge_patch(OSDPL, "region-one", "openstack", {"spec": {"mode": "Plan"}})

    def mode() -> str:
        found = kube.get(OSDPL, "region-one", "openstack")
        assert found is not None
        return str(found["spec"]["mode"])

    assert osctl("suspend").stdout == "region region-one: suspended\n"
    assert mode() == "Paused"
    assert osctl("suspend").stdout == "region region-one: already suspended\n"
    assert osctl("resume").stdout == "region region-one: resumed\n"
    assert mode() == "Plan"
    assert osctl("resume").stdout == "region region-one: already resumed\n"


def test_bundles_and_releases_are_suspended_by_annotation(kube: FakeKube):
    assert osctl("suspend", "--release", "nova", "--bundle", "caches").exit_code == 0
    assert is_suspended(annotations(kube, "compute"), "nova")
    assert not is_suspended(annotations(kube, "compute"))
    assert is_suspended(annotations(kube, "caches"))
    assert osctl("resume", "--release", "nova", "--bundle", "caches").exit_code == 0
    assert annotations(kube, "compute") == annotations(kube, "caches") == {}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"mode": "Paused"}, "the region is"),
        (
            {"releases": [{"name": "nova", "chart": {"name": "n", "path": "n"}, "suspend": True}]},
            "suspend: true",
        ),
    ],
)
def test_resume_says_what_else_suspends_a_release(kube: FakeKube, spec: dict[str, Any], told: str):
    kube.merge_patch(HELMBUNDLE, "compute", "openstack", {"spec": spec})
    result = osctl("resume", "--release", "nova")
    assert result.exit_code == 5
    assert told in result.stderr


def status(kube: FakeKube, **entry: Any) -> None:
    found = kube.get(HELMBUNDLE, "compute", "openstack")
    assert found is not None
    kube.replace({**found, "status": {"releases": [{"name": "nova", **entry}]}}, subresource="status")


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"state": "Suspended", "reason": "RolledBack", "lastAttempt": {"rollback": "1 t"}}, 0),
        ({"state": "Suspended", "reason": "RolledBack", "lastAttempt": {"rollback": "1 before"}}, 4),
        ({"state": "Deployed", "reason": "RollbackImpossible"}, 5),
        ({"state": "Failed", "reason": "BackingOff", "message": "it broke"}, 4),
    ],
)
def test_waiting_for_a_rollback_ends_when_it_is_made_or_cannot_be(
    kube: FakeKube, entry: dict[str, Any], code: int, capsys: pytest.CaptureFixture[str]
):
    status(kube, **entry)
    clock = FakeClock()
    targets = find_targets(Cluster(kube, "openstack"), ["nova"], [])
    ended = wait_for_releases(
        Cluster(kube), targets, Request("rollback", "1 t"), timeout=5, clock=clock, sleep=clock.advance
    )
    assert ended == code
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1 and entry["reason"] in told[0]
