"""HelmBundles on their own: the controller keeps any Helm releases as described."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.adapters.helm.records.release_records import SecretRecords
from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import CHART, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("releases")]


def bundle(region: Region, name: str, *releases: dict[str, Any], **spec: Any) -> None:
    """Applies a HelmBundle of these releases."""
    obj = {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "HelmBundle",
        "metadata": {"name": name, "namespace": region.namespace},
        "spec": {"releases": list(releases), **spec},
    }
    region.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(obj))


def memcached(name: str = "memcached", replicas: int = 1, **more: Any) -> dict[str, Any]:
    values = {"pod": {"replicas": {"server": replicas}}, "secrets": {"tls": {}}}
    return {"name": name, "chart": {"name": "memcached", "path": "memcached"}, "values": values, **more}


def entry(region: Region, name: str, release: str = "memcached") -> dict[str, Any]:
    status = region.get("hb", name).get("status") or {}
    return next((one for one in status.get("releases") or [] if one["name"] == release), {})


def state(region: Region, name: str, release: str = "memcached") -> str:
    return str(entry(region, name, release).get("state"))


def ready(region: Region, name: str) -> bool:
    obj = region.get("hb", name)
    found = (obj.get("status") or {}).get("conditions") or []
    one = next((one for one in found if one["type"] == "Ready"), {})
    return bool(one.get("status") == "True" and one["observedGeneration"] == obj["metadata"]["generation"])


def wait_ready(region: Region, name: str) -> None:
    wait_until(
        f"bundle {name} is Ready",
        lambda: ready(region, name),
        show=lambda: json.dumps(region.get("hb", name), indent=1) + region.controllers.log("helmbundle"),
    )


def test_a_bundle_is_installed_upgraded_and_removed(bench: Region) -> None:
    bundle(bench, "caches", memcached())
    wait_ready(bench, "caches")
    assert bench.revisions() == {"memcached": (1, "deployed")}
    bundle(bench, "caches", memcached(replicas=2))
    wait_ready(bench, "caches")
    assert bench.revisions() == {"memcached": (2, "deployed")}
    bench.kubectl("delete", "hb", "caches", "--timeout=500s")
    assert bench.revisions() == {}


def test_the_example_of_a_bundle_alone_is_kept_without_any_region(bench: Region) -> None:
    obj = yaml.safe_load((CHART / "examples" / "helmbundle-alone.yaml").read_text(encoding="utf-8"))
    obj["metadata"]["namespace"] = bench.namespace
    bench.kubectl("apply", "-f", "-", input=json.dumps(obj))
    wait_ready(bench, "caches")
    assert bench.revisions() == {"memcached": (1, "deployed")}
    assert bench.get("osdpl")["items"] == []


def test_a_release_of_another_bundle_is_neither_touched_nor_taken_away(bench: Region) -> None:
    bundle(bench, "first", memcached())
    wait_ready(bench, "first")
    bundle(bench, "second", memcached(replicas=3), volumes="Delete")
    wait_until("the second is told", lambda: entry(bench, "second").get("reason") == "ReleaseNameTaken")
    assert bench.revisions() == {"memcached": (1, "deployed")}
    bench.kubectl("delete", "hb", "second", "--timeout=500s")
    assert bench.revisions() == {"memcached": (1, "deployed")}
    assert ready(bench, "first")


def test_an_uninstall_that_was_cut_off_and_taken_back_ends_in_a_whole_release(bench: Region) -> None:
    bundle(bench, "caches", memcached())
    wait_ready(bench, "caches")
    bench.controllers.stop("helmbundle")
    [workload] = bench.get("sts,deploy", "-l", "application=memcached")["items"]
    bench.kubectl("delete", workload["kind"], workload["metadata"]["name"])
    records = SecretRecords(PykubeClient(connect(bench.sandbox.kubeconfig)))
    records.mark_uninstalling("memcached", bench.namespace, 1)
    bench.controllers.start()
    wait_until(
        "the workload is there again",
        lambda: bench.get("sts,deploy", "-l", "application=memcached")["items"],
        show=lambda: bench.controllers.log("helmbundle"),
    )
    # The status may still be what it was before.
    wait_until(
        "the release is whole",
        lambda: bench.revisions() == {"memcached": (1, "deployed")} and ready(bench, "caches"),
        show=lambda: f"{bench.revisions()}\n{bench.controllers.log('helmbundle')}",
    )


def test_a_suspended_release_is_left_alone_and_said_to_be_so(bench: Region) -> None:
    bundle(bench, "caches", memcached(suspend=True))
    wait_until("it is suspended", lambda: state(bench, "caches") == "Suspended")
    assert bench.revisions() == {}
    assert not ready(bench, "caches")
    bundle(bench, "caches", memcached())
    wait_ready(bench, "caches")
    bundle(bench, "caches", memcached(suspend=True))
    wait_ready(bench, "caches")
    assert entry(bench, "caches")["reason"] == "Suspended"
    bundle(bench, "caches", memcached(suspend=True, replicas=2))
    wait_until("it is suspended", lambda: state(bench, "caches") == "Suspended")
    assert bench.revisions() == {"memcached": (1, "deployed")}
    bundle(bench, "caches", memcached())  # else it would stay when its bundle goes


def test_a_chart_that_is_not_there_is_reported_and_taken_up_once_the_spec_is_right(bench: Region) -> None:
    wrong = {"name": "memcached", "chart": {"name": "memcahced", "path": "memcahced"}}
    bundle(bench, "caches", wrong)
    wait_until("the chart is missed", lambda: entry(bench, "caches").get("reason") == "ChartNotFound")
    assert "memcahced" in entry(bench, "caches")["message"]
    bundle(bench, "caches", memcached())
    wait_ready(bench, "caches")


def test_a_missing_secret_is_named_and_waited_for(bench: Region) -> None:
    desired = memcached()
    desired["values"]["endpoints"] = {"x": {"$secretRef": {"name": "mine", "key": "word"}}}
    bundle(bench, "caches", desired)
    wait_until("the Secret is missed", lambda: entry(bench, "caches").get("reason") == "SecretMissing")
    assert '"mine"' in entry(bench, "caches")["message"]
    bench.kubectl("create", "secret", "generic", "mine", "--from-literal=word=planted-secret-word")
    wait_until("it goes on", lambda: entry(bench, "caches").get("reason") != "SecretMissing")
    seen = bench.kubectl("get", "hb,events", "-o", "yaml") + bench.controllers.log("helmbundle")
    assert "planted-secret-word" not in seen


JOB_CHART = {
    "Chart.yaml": "apiVersion: v2\nname: migrations\nversion: 0.1.0\n",
    "values.yaml": "image: one\n",
    "templates/job.yaml": """
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  template:
    metadata: {labels: {application: migrations}}
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: {{ .Values.image | quote }}}]
""",
}


def test_a_job_that_cannot_be_changed_is_replaced_before_the_upgrade(
    sandbox: Sandbox, namespace: str, tmp_path: Path
) -> None:
    for name, text in JOB_CHART.items():
        path = tmp_path / "charts" / "migrations" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    environment = {"CHARTS_DIR": str(tmp_path / "charts")}
    for region in installed(sandbox, namespace, tmp_path / "run", ("helmbundle",), environment):
        desired = {"name": "migrations", "chart": {"name": "migrations", "path": "migrations"}}
        bundle(region, "jobs", desired)
        wait_ready(region, "jobs")
        first = region.get("job", "migrate")["metadata"]["uid"]
        bundle(region, "jobs", {**desired, "values": {"image": "two"}})
        wait_ready(region, "jobs")
        job = region.get("job", "migrate")
        assert job["metadata"]["uid"] != first
        assert job["spec"]["template"]["spec"]["containers"][0]["image"] == "two"
        assert region.revisions() == {"migrations": (2, "deployed")}


def test_a_bundle_that_cannot_be_read_any_more_can_still_be_removed(bench: Region) -> None:
    bundle(bench, "caches", memcached())
    wait_ready(bench, "caches")
    elsewhere = memcached(namespace="elsewhere")
    bundle(bench, "caches", elsewhere)
    wait_until(
        "the spec is refused",
        lambda: "elsewhere" in json.dumps(bench.get("hb", "caches").get("status") or {}),
        show=lambda: bench.controllers.log("helmbundle"),
    )
    assert bench.revisions() == {"memcached": (1, "deployed")}
    bench.kubectl("delete", "hb", "caches", "--timeout=500s")
    assert bench.revisions() == {}
