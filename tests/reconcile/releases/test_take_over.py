"""A release of another Helm that runs as its spec asks for is taken over without an upgrade."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from controller.domain.api.names import BUNDLE_LABEL, DIGEST_LABEL, REVISION_LABEL
from controller.ports.helm import HelmRequest, RenderedRelease, Revision
from tests.fakes.helm import FakeHelm, Hook
from tests.reconcile.bundles import Bench


class NumberedHelm(FakeHelm):
    """Its chart shows the value `conf`, and with `shown` the number of the revision, as templates can."""

    shown = False

    def render(self, request: HelmRequest, *, server: bool = False) -> RenderedRelease:
        hooks = super().render(request, server=server).hooks
        return RenderedRelease((self._config(request.values, request.revision or 1),), hooks)

    def observe(
        self, namespace: str, *, bundle: str = "", releases: Collection[str] = ()
    ) -> Mapping[str, tuple[Revision, ...]]:
        """Nothing but what was asked for."""
        found = super().observe(namespace)
        return {
            name: history
            for name, history in found.items()
            if name in releases or any(one.bundle == bundle for one in history)
        }

    def install_by_others(self, values: Mapping[str, Any], version: int = 1) -> None:
        """Another Helm has made this revision of keystone."""
        self.record("keystone", version, "deployed")
        newest = self._records["keystone"][-1]
        newest.objects = [self._config(values, version)]
        newest.phases = {hook.name: "Succeeded" for hook in self.hooks_of.get("keystone", ())}

    def _config(self, values: Mapping[str, Any], revision: int) -> dict[str, Any]:
        data = {"conf": str(values.get("conf")), **({"revision": str(revision)} if self.shown else {})}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "keystone-etc"}, "data": data}


@pytest.fixture
def helm() -> NumberedHelm:
    made = Bench()
    return NumberedHelm(made.kube, made.clock)


@pytest.fixture
def bench(helm: NumberedHelm) -> Bench:
    made = Bench()
    helm._kube, helm._clock = made.kube, made.clock
    made.helm = helm
    made.restart()
    return made


def release(**values: Any) -> dict[str, Any]:
    return {"name": "keystone", "values": values}


def test_nothing_is_upgraded_and_no_hook_runs(bench: Bench, helm: NumberedHelm) -> None:
    helm.hooks_of["keystone"] = [Hook("keystone-db-sync")]
    helm.install_by_others({"conf": "a"}, version=3)
    helm.hand_over("keystone")
    bench.bundle("identity", release(conf="a"))
    bench.settle()
    assert helm.calls == []
    labels = helm.labels("keystone")
    assert (labels[BUNDLE_LABEL], labels[REVISION_LABEL]) == ("identity", "3")
    assert labels[DIGEST_LABEL]
    [entry] = bench.status("identity")["releases"]
    assert (entry["state"], entry["revision"]) == ("Deployed", 3)
    written = len(bench.kube.writes)
    bench.settle()
    assert len(bench.kube.writes) == written


def test_a_release_whose_hooks_were_left_out_is_upgraded(bench: Bench, helm: NumberedHelm) -> None:
    helm.hooks_of["keystone"] = [Hook("keystone-db-sync")]
    helm.install_by_others({"conf": "a"}, version=3)
    helm._records["keystone"][-1].phases = {}
    helm.finish("keystone-db-sync")
    helm.hand_over("keystone")
    bench.bundle("identity", release(conf="a"))
    bench.settle()
    assert helm.calls == [("Upgrade", "keystone")]


def test_the_plan_says_that_nothing_changes(bench: Bench, helm: NumberedHelm) -> None:
    helm.hooks_of["keystone"] = [Hook("keystone-db-sync")]
    helm.install_by_others({"conf": "a"})
    helm.hand_over("keystone")
    bench.bundle("identity", release(conf="a"), mode="Plan")
    bench.reconcile()
    [entry] = bench.status("identity")["plan"]["releases"]
    assert entry["action"] == "TakeOver"
    assert not {"objects", "restarts", "jobs", "hooks", "problem"} & entry.keys()
    assert BUNDLE_LABEL not in helm.labels("keystone")


def test_the_plan_of_a_new_bundle_knows_what_others_have_installed(bench: Bench, helm: NumberedHelm) -> None:
    helm.install_by_others({"conf": "a"})
    chart = {"name": "keystone", "path": "keystone"}
    planned = {"volumes": "Retain", "releases": [{**release(conf="a"), "chart": chart}]}
    bench.bundle("identity", mode="Plan", planned=planned)
    bench.reconcile()
    [entry] = bench.status("identity")["plan"]["releases"]
    assert "keystone" in entry["problem"]
    helm.hand_over("keystone")
    bench.clock.advance(30)
    bench.reconcile()
    [entry] = bench.status("identity")["plan"]["releases"]
    assert entry["action"] == "TakeOver"


def test_what_differs_is_upgraded(bench: Bench, helm: NumberedHelm) -> None:
    helm.install_by_others({"conf": "a"})
    helm.hand_over("keystone")
    bench.bundle("identity", release(conf="b"))
    bench.settle()
    assert helm.calls == [("Upgrade", "keystone")]


def test_a_hook_that_the_record_lacks_is_a_difference(bench: Bench, helm: NumberedHelm) -> None:
    helm.install_by_others({"conf": "a"})
    helm._records["keystone"][-1].given = True  # its hooks are its own, and none
    helm.hooks_of["keystone"] = [Hook("keystone-db-sync")]
    helm.finish("keystone-db-sync")
    helm.hand_over("keystone")
    bench.bundle("identity", release(conf="a"))
    bench.settle()
    assert helm.calls == [("Upgrade", "keystone")]


def test_what_is_not_handed_over_stays_as_it_is(bench: Bench, helm: NumberedHelm) -> None:
    helm.install_by_others({"conf": "a"})
    bench.bundle("identity", release(conf="a"))
    bench.reconcile()
    assert helm.calls == []
    assert BUNDLE_LABEL not in helm.labels("keystone")


def test_templates_that_show_the_revision_get_that_of_the_record(bench: Bench, helm: NumberedHelm) -> None:
    helm.shown = True
    helm.install_by_others({"conf": "a"}, version=4)
    helm.hand_over("keystone")
    bench.bundle("identity", release(conf="a"))
    bench.settle()
    assert helm.calls == []
    assert helm.labels("keystone")[REVISION_LABEL] == "4"


def test_a_failed_revision_is_not_taken_over(bench: Bench, helm: NumberedHelm) -> None:
    helm.install_by_others({"conf": "a"})
    helm.set_status("keystone", "failed")
    helm.hand_over("keystone")
    bench.bundle("identity", release(conf="a"))
    bench.settle()
    assert helm.calls == [("Upgrade", "keystone")]
