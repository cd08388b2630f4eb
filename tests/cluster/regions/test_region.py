"""A Ready region, and what an edit, a restart and a removed service do to it."""

from __future__ import annotations

import json
import re
import subprocess
import time
from datetime import timedelta
from pathlib import Path

import pytest

from sandbox import audit
from tests.cluster.region import NAME, RELEASES, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("shared-region"), pytest.mark.timeout(1800)]

# How long nothing at all may be written once a region has settled: two passes without a cause, and more.
QUIET_SECONDS = 25
SETTLED_SECONDS = 20


def test_applying_the_example_ends_in_a_ready_region(shared_region: Region) -> None:
    revisions = shared_region.revisions()
    assert set(revisions) == RELEASES
    assert all(status == "deployed" for _, status in revisions.values())
    status = shared_region.status()
    assert status["progress"] == "10/10"
    assert status["state"] == "Applied"
    assert all(child["deployed"] for child in status["children"].values())
    assert status["initialization"]["provisioned"] is True


def test_kubectl_wait_and_get_show_it(shared_region: Region) -> None:
    shared_region.kubectl("wait", f"osdpl/{NAME}", "--for=condition=Ready", "--timeout=500s")
    row = shared_region.kubectl("get", "osdpl").splitlines()[1].split()
    assert row[:5] == [NAME, "True", "RegionReady", "2026.1", "10/10"]


def test_one_edited_value_upgrades_one_release(shared_region: Region) -> None:
    before = shared_region.revisions()
    shared_region.edit(services={"identity": {"keystone": {"values": {"pod": {"replicas": {"api": 2}}}}}})
    shared_region.wait_ready()
    after = shared_region.revisions()
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"keystone"}
    assert after["keystone"] == (before["keystone"][0] + 1, "deployed")
    assert shared_region.get("deployment", "keystone-api")["spec"]["replicas"] == 2


def test_no_status_has_the_region_rendered_again(shared_region: Region) -> None:
    """One rendering for each edit and each start of core, of some hundred passes."""
    for one_process in shared_region.controllers.log("core").split("holding the Lease"):
        rendered = re.findall(r"rendered \d+ releases of generation (\d+)", one_process)
        assert len(rendered) == len(set(rendered)), rendered
    assert rendered


def is_quiet(region: Region) -> bool:
    """Whether nothing was written for a while: earlier edits and rollouts are over."""
    return region.writes_since(audit.now() - timedelta(seconds=SETTLED_SECONDS)) == []


def test_restarted_containers_write_nothing(shared_region: Region) -> None:
    """All five on one object: no fight, no needless write, no upgrade."""
    before = shared_region.revisions()
    wait_until("what was before has been told", lambda: is_quiet(shared_region), 300)
    for name in shared_region.containers:
        shared_region.controllers.restart(name)
    shared_region.controllers.wait_healthy()
    moment = audit.now()
    time.sleep(QUIET_SECONDS)
    written = shared_region.writes_since(moment)
    assert written == [], "\n".join(map(str, written))
    assert shared_region.revisions() == before
    shared_region.wait_ready()


def test_no_generated_secret_is_seen_anywhere(shared_region: Region) -> None:
    texts = {name: text for name, text in shared_region.secret_texts().items() if len(text) >= 8}
    assert len(texts) > 10
    seen = {
        "osdpl, bundles and events": shared_region.kubectl(
            "get", "osdpl,hb,events", "-o", "yaml", "--show-managed-fields"
        ),
        "logs": "".join(shared_region.controllers.log(name) for name in shared_region.containers),
        "metadata of Secrets": json.dumps(
            [item["metadata"] for item in shared_region.get("secrets")["items"]]
        ),
        "arguments": "".join(_arguments(shared_region, name) for name in shared_region.containers),
        "audit log": _audit_uris(shared_region),
    }
    found = [
        f"{name} in {place}" for place, text in seen.items() for name, value in texts.items() if value in text
    ]
    assert found == []


def _arguments(region: Region, name: str) -> str:
    # One that has lost its Lease is about to be started again.
    pid = wait_until(f"{name} runs", lambda: region.controllers.pid(name))
    process = Path("/proc") / str(pid)
    return (process / "cmdline").read_text() + (process / "environ").read_text()


def _audit_uris(region: Region) -> str:
    return "\n".join(request.uri for request in audit.requests(region.sandbox.audit_log, region.began))


def test_a_disabled_service_goes_and_its_volumes_stay(shared_region: Region) -> None:
    claims = shared_region.claims()
    features = shared_region.manifest()["spec"]["features"]
    shared_region.edit(features={**features, "services": {"disabled": ["compute"]}})
    wait_until(
        "nova and libvirt are uninstalled",
        lambda: {"nova", "libvirt"}.isdisjoint(shared_region.revisions()),
        300,
        show=lambda: shared_region.kubectl("get", "hb"),
    )
    shared_region.wait_ready()
    assert set(shared_region.revisions()) == RELEASES - {"nova", "libvirt"}
    assert shared_region.claims() == claims
    shared_region.edit(features={**features, "services": None})
    shared_region.wait_ready()
    assert set(shared_region.revisions()) == RELEASES


def test_a_service_that_others_need_cannot_be_disabled(shared_region: Region) -> None:
    before = shared_region.revisions()
    features = shared_region.manifest()["spec"]["features"]
    shared_region.edit(features={**features, "services": {"disabled": ["identity"]}})
    wait_until(
        "SpecValid is False",
        lambda: shared_region.condition("SpecValid").get("status") == "False",
    )
    assert "identity" in shared_region.condition("SpecValid")["message"]
    assert shared_region.revisions() == before
    shared_region.edit(features={**features, "services": None})
    shared_region.wait_ready()


def test_a_forbidden_verb_is_forbidden(shared_region: Region) -> None:
    [kubeconfig] = shared_region.directory.glob("*.kubeconfig")
    for question in (
        ("delete", "nodes"),
        ("create", "clusterrolebindings"),
        ("*", "*"),
        ("escalate", "roles"),
    ):
        answer = subprocess.run(
            [
                str(shared_region.sandbox.binaries.kubectl),
                "--kubeconfig",
                str(kubeconfig),
                "auth",
                "can-i",
                *question,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.stdout.strip() == "no", question
