"""Five containers write their parts of one status at once: nothing is lost, no one touches another's."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.patience import patient
from tests.cluster.region import CHART, EXAMPLE, NAME, ROOT, wait_until
from tests.cluster.status_writer import PARTS, differences, shown_conditions

pytestmark = [pytest.mark.cluster]


def owned(osdpl: dict[str, Any], manager: str) -> dict[str, Any]:
    """The fields of the status that the manager owns, as managedFields say."""
    found = (
        entry["fieldsV1"].get("f:status") or {}
        for entry in osdpl["metadata"]["managedFields"]
        if entry["manager"] == manager
    )
    result: dict[str, Any] = next(found, {})
    return result


def write_all(sandbox: Sandbox, namespace: str, rounds: int) -> dict[str, dict[str, Any]]:
    """What each writer reports; every one is a process of its own."""

    def run(container: str) -> dict[str, Any]:
        arguments = [str(sandbox.kubeconfig), namespace, NAME, container, str(rounds)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.cluster.status_writer", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=patient(3300),
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return report

    with ThreadPoolExecutor(len(PARTS)) as pool:
        return dict(zip(PARTS, pool.map(run, PARTS), strict=True))


def kinds(sandbox: Sandbox) -> str:
    return sandbox.kubectl("api-resources", "--api-group=osctl.dev", "-o", "name", "--cached=false")


@pytest.mark.parametrize(
    "rounds", [8, pytest.param(1000, marks=[pytest.mark.exhaustive, pytest.mark.timeout(3600)])]
)
def test_nothing_is_lost_and_no_foreign_entry_is_touched(
    sandbox: Sandbox, namespace: str, rounds: int
) -> None:
    for path in sorted((CHART / "files" / "crds").glob("*.yaml")):
        sandbox.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(path))
    # A server that has just begun takes a moment to serve a new kind.
    wait_until("the kind is served", lambda: "openstackdeployments" in kinds(sandbox), timeout=300)
    manifest = EXAMPLE.read_text(encoding="utf-8").replace("namespace: openstack", f"namespace: {namespace}")
    sandbox.kubectl("apply", "-f", "-", input=manifest)
    reports = write_all(sandbox, namespace, rounds)
    assert reports == {container: {"rounds": rounds, "written": rounds, "lost": []} for container in PARTS}

    text = sandbox.kubectl("-n", namespace, "get", "osdpl", NAME, "-o", "json", "--show-managed-fields")
    osdpl = json.loads(text)
    for container in PARTS:
        assert differences(osdpl["status"], container, rounds) == []
        own = owned(osdpl, f"osctl-{container}")
        types = {f'k:{{"type":"{type_}"}}' for type_ in shown_conditions(container, rounds)}
        assert own["f:conditions"].keys() - {"."} == types
        others = {
            manager
            for manager in (f"osctl-{other}" for other in PARTS if other != container)
            if (own.keys() - {"f:conditions", "."}) & (owned(osdpl, manager).keys() - {"."})
        }
        assert others == set()
