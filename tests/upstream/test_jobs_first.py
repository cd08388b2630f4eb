"""Releases of OpenStack-Helm's charts whose pods wait for Jobs, upgraded in memory to the next OpenStack."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.releases.actions import Action
from controller.domain.releases.upgrade_jobs.awaited_jobs import SERVING, all_awaited, images_of, upgrade_jobs
from controller.domain.releases.upgrade_jobs.jobs_first import OBJECTS_KEY
from controller.ports.helm import HelmRequest, RenderedRelease
from controller.ports.kubernetes import JOB, resource_of
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.upgrade import upgrade
from tests.contract.conftest import Bench
from tests.contract.test_stored_helm import render
from tests.fakes.kube import FakeKube, Request
from tests.fakes.stored_helm import StoredHelm
from tests.fakes.world import FakeClock
from tests.upstream.regions import objects, region, releases

pytestmark = pytest.mark.upstream

SPACE = "openstack"
OF_PRESETS = {
    "core": {"keystone", "glance"},
    "compute": {"keystone", "glance", "placement", "nova", "neutron"},
}


@cache
def rendered(charts: Path, preset: str, version: str) -> Mapping[str, RenderedRelease]:
    found = {}
    for release in releases(region(charts, {"preset": preset, "openstackVersion": version})):
        every = [dict(obj) for obj in objects(release, namespace=SPACE)]
        hooks = tuple(obj for obj in every if "helm.sh/hook" in (obj["metadata"].get("annotations") or {}))
        found[release.spec.name] = RenderedRelease(tuple(obj for obj in every if obj not in hooks), hooks)
    return found


CASES = [(preset, name) for preset, names in OF_PRESETS.items() for name in names]


@pytest.mark.parametrize(("preset", "name"), CASES)
def test_its_jobs_come_first(charts: Path, preset: str, name: str) -> None:
    old, new = (rendered(charts, preset, version)[name] for version in ("2025.2", "2026.1"))
    kube, wanted = FakeKube(), [old]

    def answer(request: HelmRequest) -> RenderedRelease:
        return render(request) if OBJECTS_KEY in request.values else wanted[0]

    helm = StoredHelm(kube, FakeClock(), answer, lambda *_: "Succeeded")
    bench = Bench(helm, kube, SecretRecords(kube), SPACE, None)  # type: ignore[arg-type]
    helm.install(HelmRequest(name, SPACE, "chart", {}, labels=bench.labelled(1, "old")))
    images = {one["metadata"]["name"]: images_of(one) for one in workloads(old)}
    wanted[0] = new
    seen: list[Request] = []
    kube.before_write = lambda request: None if request.dry_run else seen.append(request)
    act(bench, name, 2)
    assert bench.records.observe(SPACE)[name][-1].jobs_for == "new"
    first = next(place for place, one in enumerate(seen) if one.kind in SERVING)
    gone = {one.name for one in seen[:first] if (one.verb, one.kind) == ("delete", JOB.kind)}
    assert gone == set(names_of(new))
    assert {one: live_images(kube, kind, one) for kind, one in kinds_of(old)} == images
    act(bench, name, 3)
    assert {one: live_images(kube, kind, one) for kind, one in kinds_of(new)} == {
        one["metadata"]["name"]: images_of(one) for one in workloads(new)
    }


def act(bench: Bench, name: str, version: int) -> None:
    labels = bench.labelled(version, "new")
    action = ActionRequest(Action.UPGRADE, "identity", name, SPACE, version, "new", resolved_values={})
    upgrade(bench.ports(), action, HelmRequest(name, SPACE, "chart", {}, labels=labels), CancellationToken())


def workloads(release: RenderedRelease) -> list[dict[str, Any]]:
    return [obj for obj in release.manifest if obj["kind"] in SERVING]


def kinds_of(release: RenderedRelease) -> list[tuple[dict[str, Any], str]]:
    return [(obj, obj["metadata"]["name"]) for obj in workloads(release)]


def names_of(release: RenderedRelease) -> list[str]:
    jobs = upgrade_jobs(release.manifest, release.hooks)
    return [one["metadata"]["name"] for one in all_awaited(workloads(release), jobs, SPACE)]


def live_images(kube: FakeKube, obj: dict[str, Any], name: str) -> Mapping[str, str]:
    live = kube.get(resource_of(obj), name, SPACE)
    assert live is not None
    return images_of(live)
