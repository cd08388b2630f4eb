"""Bundles whose names others have: refused by name, and handed over by the command that the message gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.domain.api.names import HAND_OVER_ANNOTATION, SUSPEND_ANNOTATION
from tests.cluster.region import CHART, Region, wait_until
from tests.cluster.releases.test_bundles import bundle, entry, memcached, wait_ready

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("releases")]


def wait_refused(bench: Region, reason: str, release: str = "memcached") -> str:
    """The message that says so."""
    wait_until(
        f"it is refused as {reason}",
        lambda: entry(bench, "caches", release).get("reason") == reason,
        show=lambda: json.dumps(bench.get("hb", "caches"), indent=1) + bench.controllers.log("helmbundle"),
    )
    return str(entry(bench, "caches", release)["message"])


def follow(bench: Region, message: str) -> None:
    """Types the command that a message ends with."""
    command = message[message.index("kubectl ") :].split(" (", maxsplit=1)[0].split()
    assert command[:2] == ["kubectl", "-n"]
    bench.sandbox.kubectl(*command[1:])


def test_an_object_of_others_is_left_alone_until_it_is_handed_over(bench: Region) -> None:
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "memcached"},
        "spec": {"clusterIP": "None", "ports": [{"name": "own", "port": 1}], "selector": {"app": "theirs"}},
    }
    bench.kubectl("create", "-f", "-", input=json.dumps(service))
    theirs = bench.get("service", "memcached")
    bundle(bench, "caches", memcached())
    message = wait_refused(bench, "ObjectNameTaken")
    assert message.startswith("Service/memcached exists already, has no owner and differs; ")
    assert bench.get("service", "memcached") == theirs
    assert bench.revisions() == {}
    follow(bench, message)
    wait_ready(bench, "caches")
    live = bench.get("service", "memcached")
    assert live["metadata"]["uid"] == theirs["metadata"]["uid"]
    assert HAND_OVER_ANNOTATION not in live["metadata"]["annotations"]


def test_a_release_of_others_is_left_alone_until_it_is_handed_over(bench: Region) -> None:
    values = json.dumps(memcached(replicas=3)["values"])
    file = bench.directory / "values.json"
    file.write_text(values, encoding="utf-8")
    bench.helm("install", "memcached", str(CHART.parent / "memcached"), "--values", str(file))
    bundle(bench, "caches", memcached())
    message = wait_refused(bench, "ReleaseNameTaken")
    assert bench.revisions() == {"memcached": (1, "deployed")}
    follow(bench, message)
    wait_ready(bench, "caches")
    assert bench.revisions() == {"memcached": (2, "deployed")}


def test_the_controllers_own_release_is_no_bundles_to_have(bench: Region) -> None:
    own = f"osctl-{bench.namespace}"
    before = bench.get("secrets", "-l", f"owner=helm,name={own}")["items"]
    bundle(bench, "caches", memcached(own))
    message = wait_refused(bench, "ReleaseNameTaken", own)
    assert message == "the release belongs to the controller's own installation; rename it here"
    bench.kubectl("delete", "hb", "caches", "--timeout=500s")
    assert bench.get("secrets", "-l", f"owner=helm,name={own}")["items"] == before


def test_a_server_elsewhere_takes_the_place_of_one_whose_service_was_deleted(bench: Region) -> None:
    """The way that a region is reported which is to have a database that it does not run."""
    bundle(bench, "caches", memcached())
    wait_ready(bench, "caches")
    bench.kubectl("annotate", "hb", "caches", f"{SUSPEND_ANNOTATION}=true")
    bench.kubectl("delete", "service", "memcached")
    wait_until(
        "Kubernetes has taken its endpoints back",
        lambda: not bench.get("endpoints", "--field-selector=metadata.name=memcached")["items"],
    )
    values = {"addresses": ["192.0.2.10"], "ports": {"memcache": {"port": 11211, "serverPort": 11212}}}
    elsewhere = {"name": "memcached", "chart": {"name": "external-service", "path": "external-service"}}
    bundle(bench, "caches", {**elsewhere, "values": values})
    bench.kubectl("annotate", "hb", "caches", f"{SUSPEND_ANNOTATION}-")
    wait_ready(bench, "caches")
    assert "selector" not in bench.get("service", "memcached")["spec"]
    wait_until(
        "only the server elsewhere is behind the Service",
        lambda: addresses(bench, "memcached") == ["192.0.2.10"],
    )
    workloads = bench.get("statefulset,deployment", "-l", "application=memcached")["items"]
    assert workloads == []


def addresses(bench: Region, service: str) -> list[str]:
    slices = bench.get("endpointslices", "-l", f"kubernetes.io/service-name={service}")["items"]
    return [one for found in slices for part in found.get("endpoints") or [] for one in part["addresses"]]
