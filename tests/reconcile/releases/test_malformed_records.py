"""Records that hold other types than Helm writes: their release says so, and others are looked after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.adapters.helm.records.record_texts import encode_record
from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.api.names import MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE
from controller.reconcile.releases.drift.index import Followed
from controller.reconcile.releases.drift.watch import DriftWatch
from controller.reconcile.releases.parts import DriftRates
from tests.fakes.kube import FakeKube
from tests.fakes.metrics import FakeMetrics
from tests.fakes.release import NAMESPACE, FakeWatch
from tests.fakes.world import FakeClock

CONFIG = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\ndata: {a: b}\n"
NOTES = "{helm.sh/hook: post-install}"
NAMELESS = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{generateName: x-, annotations: {NOTES}}}\n"
RAN = {"name": "h", "kind": "Job", "events": ["post-install"], "last_run": {"phase": "Succeeded"}}
RECORDS: Mapping[str, Mapping[str, Any]] = {
    "a hook without a name": {"manifest": "", "hooks": [{**RAN, "manifest": NAMELESS}]},
    "an object without a name": {"manifest": f"---\n{NAMELESS}"},
    "no metadata": {"manifest": "---\napiVersion: v1\nkind: ConfigMap\n"},
    "no version": {"manifest": "---\nkind: ConfigMap\nmetadata: {name: x}\n"},
    "a weight that is no number": {"manifest": "", "hooks": [{**RAN, "weight": "abc", "manifest": ""}]},
    "a run that is a text": {"manifest": "", "hooks": [{**RAN, "last_run": "x"}]},
    "metadata that are a text": {"manifest": "---\napiVersion: v1\nkind: ConfigMap\nmetadata: x\n"},
    "annotations that are a list": {
        "manifest": "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: [1]}\n"
    },
    "an item without anything": {"manifest": "---\napiVersion: v1\nkind: List\nitems: [{a: b}]\n"},
    "no YAML": {"manifest": "---\n{a: [b\n"},
    "a kind that is a list": {"manifest": "---\napiVersion: v1\nkind: [a]\nmetadata: {name: a}\n"},
}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_a_malformed_record_keeps_no_other_release_from_being_compared(record: Mapping[str, Any]) -> None:
    clock = FakeClock()
    kube = FakeKube(clock)
    kube.create(_secret("bad", record))
    kube.create(_secret("good", {"manifest": CONFIG}))
    marks = {RELEASE_NAME: "good", RELEASE_NAMESPACE: NAMESPACE}
    meta = {"name": "good", "namespace": NAMESPACE, "labels": {MANAGED_BY: "Helm"}, "annotations": marks}
    edited = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "edited"}}
    kube.apply(edited, manager="kubectl")
    lookout = DriftWatch(
        kube=kube,
        records=SecretRecords(kube),
        watch=FakeWatch(kube),
        clock=clock,
        reconcile_after=lambda _: None,
        changed_bundle=lambda _: None,
        pace=DriftRates(qps=20, resync=3600, settle=10),
        measures=FakeMetrics(),
    )
    for name in ("bad", "good"):
        lookout.follow((NAMESPACE, name), Followed((NAMESPACE, name), 1, ()))
    for _ in range(100):
        clock.advance(lookout.reconcile() or 10)
    assert [one.object.name for one in lookout.known((NAMESPACE, "good"), 1).objects] == ["good"]


def _secret(name: str, record: Mapping[str, Any]) -> dict[str, Any]:
    labels = {"owner": "helm", "name": name, "version": "1", "status": "deployed"}
    meta = {"name": f"sh.helm.release.v1.{name}.v1", "namespace": NAMESPACE, "labels": labels}
    text = encode_record({"name": name, "version": 1, "info": {"status": "deployed"}, **record})
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": meta,
        "data": {"release": text},
    }
