"""The helmbundle container on a real cluster: what people do to a release's objects is undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import audit
from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import Region, wait_until

pytestmark = pytest.mark.cluster

CHARTS = Path(__file__).parents[2] / "contract" / "charts"


@pytest.fixture
def bench(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[Region]:
    """helmbundle alone, with charts of the contract tests and no patience."""
    environment = {"CHARTS_DIR": str(CHARTS), "DRIFT_SETTLE_SECONDS": "0"}
    yield from installed(sandbox, namespace, tmp_path, ("helmbundle",), environment)


def bundle(region: Region, **values: Any) -> None:
    release = {"name": "web", "chart": {"name": "varied", "path": "varied"}, "values": values}
    obj = {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "HelmBundle",
        "metadata": {"name": "pages", "namespace": region.namespace},
        "spec": {"releases": [release]},
    }
    region.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(obj))


def show(region: Region) -> str:
    return json.dumps(region.get("hb", "pages").get("status"), indent=1) + region.controllers.log(
        "helmbundle"
    )


def entry(region: Region) -> dict[str, Any]:
    found: dict[str, Any] = (region.get("hb", "pages").get("status") or {}).get("releases", [{}])[0]
    return found


def is_deployed(region: Region, revision: int) -> bool:
    found = entry(region)
    return (found.get("state"), found.get("revision")) == ("Deployed", revision)


def replicas(region: Region) -> int:
    return int(region.get("deploy", "web")["spec"]["replicas"])


def corrections(region: Region) -> list[str]:
    """What events tell of drift that was corrected."""
    events = region.get("events")["items"]
    return [event["message"] for event in events if event["reason"] == "CorrectSucceeded"]


def questions(region: Region, moment: Any) -> list[str]:
    """Dry runs of ours since then."""
    asked = audit.requests(region.sandbox.audit_log, moment, region.users)
    return [f"{one.resource}/{one.name}" for one in asked if one.dry_run]


def test_what_people_do_to_a_release_is_undone_without_hooks_and_disturbs_no_upgrade(bench: Region) -> None:
    moment = audit.now()
    bundle(bench)
    wait_until("it is deployed", lambda: is_deployed(bench, 1), show=lambda: show(bench))
    hook = bench.get("job", "migrate")["metadata"]["uid"]
    # The first round over a release compares each of its objects once.
    wait_until(
        "every object was compared", lambda: len(questions(bench, moment)) >= 10, show=lambda: show(bench)
    )
    assert "lastAttempt" in entry(bench)
    assert entry(bench)["lastAttempt"]["action"] == "Install"

    bench.kubectl("scale", "deploy/web", "--replicas=3")
    bench.kubectl("delete", "cm", "settings")
    wait_until("it is scaled back", lambda: replicas(bench) == 1, show=lambda: show(bench))
    wait_until(
        "the ConfigMap is there again",
        lambda: bench.get("cm", "--field-selector=metadata.name=settings")["items"],
        show=lambda: show(bench),
    )
    assert bench.get("job", "migrate")["metadata"]["uid"] == hook
    bench.kubectl("delete", "job", "migrate")
    wait_until(
        "the Job of the hook is there again, and succeeds",
        lambda: [one for one in bench.get("jobs")["items"] if (one.get("status") or {}).get("succeeded")],
        show=lambda: show(bench),
    )
    wait_until("no drift is left", lambda: "drift" not in entry(bench), show=lambda: show(bench))
    assert bench.revisions() == {"web": (1, "deployed")}
    for words in ("Deployment/web was changed by kubectl (scale) (/spec/replicas)", "Job/migrate is missing"):
        wait_until(
            f"an event: {words}",
            lambda words=words: any(words in text for text in corrections(bench)),
            show=lambda: "\n".join(corrections(bench)),
        )

    bench.kubectl("set", "image", "deploy/web", "web=theirs")
    bundle(bench, image="two", replicas=2)
    wait_until("it is upgraded", lambda: is_deployed(bench, 2), show=lambda: show(bench))
    assert replicas(bench) == 2
    assert bench.get("deploy", "web")["spec"]["template"]["spec"]["containers"][0]["image"] == "two"
    assert bench.revisions() == {"web": (2, "deployed")}
