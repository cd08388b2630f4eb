"""Many small releases, made in two ways, for comparison: by the container, and by Helm's own command line."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.ports.kubernetes import HELMBUNDLE
from sandbox import audit
from sandbox.cluster import Sandbox
from sandbox.patience import patient
from tests.cluster.conftest import installed
from tests.cluster.region import Region

CHARTS = Path(__file__).parent / "charts"
CHART = CHARTS / "three"
WAIT_SECONDS = 1800.0


@dataclass(frozen=True)
class Rate:
    """How fast `count` releases were done."""

    count: int
    seconds: float

    @property
    def per_minute(self) -> float:
        return self.count / self.seconds * 60

    def __str__(self) -> str:
        return f"{self.per_minute:.0f} a minute"


def timed(count: int, action: Callable[[], object]) -> Rate:
    began = time.monotonic()
    action()
    return Rate(count, time.monotonic() - began)


@contextmanager
def namespace(sandbox: Sandbox, name: str) -> Iterator[str]:
    """A namespace that is gone afterwards, with everything in it, before the next figure is taken."""
    sandbox.create_namespace(name, {})
    try:
        yield name
    finally:
        sandbox.kubectl("delete", "namespace", name, "--timeout=600s", timeout=620)


class CommandLine:
    """`helm upgrade --install` for one release after the other."""

    def __init__(self, sandbox: Sandbox, namespace: str) -> None:
        self._command = [str(sandbox.helm), "--kubeconfig", str(sandbox.kubeconfig), "-n", namespace]

    def apply(self, count: int, colour: str) -> Rate:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as values:
            values.write(json.dumps({"colour": colour}))
            values.flush()

            def run() -> None:
                for name in release_names(count):
                    call = [*self._command, "upgrade", "--install", name, str(CHART), "-f", values.name]
                    subprocess.run(call, check=True, capture_output=True, timeout=patient(120))

            return timed(count, run)


def release_names(count: int) -> list[str]:
    return [f"r{number:04d}" for number in range(count)]


class Fleet:
    """The helmbundle container with its releases: `per_bundle` of them in each HelmBundle."""

    def __init__(self, region: Region, count: int, per_bundle: int) -> None:
        self.region = region
        self.count = count
        self.per_bundle = per_bundle
        self._kube = PykubeClient(connect(region.sandbox.kubeconfig), user_agent="bench")

    def apply(self, colour: str) -> Rate:
        """From the first write of ours to everything Ready in status."""
        began = time.monotonic()
        # As many at a time as a person's `kubectl apply` would manage, so that this is no bottleneck.
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda body: self._kube.apply(body, manager="bench"), self._bodies(colour)))
        self.wait_ready()
        return Rate(self.count, time.monotonic() - began)

    def wait_ready(self) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        pause = min(2.0, 0.1 + self.count / 1000)
        while (left := self._unready()) > 0:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{left} bundles are not Ready: {self.region.controllers.log('helmbundle')[-3000:]}"
                )
            time.sleep(pause)

    def restart_and_look_at_all(self) -> tuple[float, int]:
        """Seconds from holding the Lease to the end of the first pass at the last bundle, and the writes."""
        controllers = self.region.controllers
        controllers.stop()
        before = len(controllers.log("helmbundle"))
        since = audit.now()
        controllers.start()
        wanted = {f"{self.region.namespace}/{body['metadata']['name']}" for body in self._bodies("")}
        deadline = time.monotonic() + 300
        while True:
            began, looked = _looks(controllers.log("helmbundle")[before:])
            if began and wanted <= looked.keys():
                return max(looked.values()) - began, len(self.region.writes_since(since))
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(wanted - looked.keys())} bundles were not looked at")
            time.sleep(0.5)

    def requests(self, since: datetime) -> Counter[str]:
        """API requests of the container since then, by verb."""
        found = audit.requests(self.region.sandbox.audit_log, since, self.region.users)
        return Counter(f"{one.verb} {one.resource}" for one in found)

    def _unready(self) -> int:
        bundles = self._kube.list(HELMBUNDLE, self.region.namespace)
        return sum(not _is_ready(obj) for obj in bundles)

    def _bodies(self, colour: str) -> list[dict[str, Any]]:
        names = release_names(self.count)
        groups = [names[at : at + self.per_bundle] for at in range(0, self.count, self.per_bundle)]
        return [self._bundle(f"b{number:04d}", group, colour) for number, group in enumerate(groups)]

    def _bundle(self, name: str, releases: list[str], colour: str) -> dict[str, Any]:
        wanted = [
            {"name": one, "chart": {"name": "three", "path": "three"}, "values": {"colour": colour}}
            for one in releases
        ]
        return {
            "apiVersion": "osctl.dev/v1alpha1",
            "kind": "HelmBundle",
            "metadata": {"name": name, "namespace": self.region.namespace},
            "spec": {"releases": wanted},
        }


@contextmanager
def container(
    sandbox: Sandbox, namespace: str, count: int, per_bundle: int, environment: Mapping[str, str]
) -> Iterator[Fleet]:
    """The helmbundle container alone in a namespace, taken down afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        settings = {"CHARTS_DIR": str(CHARTS), "LOG_LEVEL": "DEBUG", **environment}
        for region in installed(sandbox, namespace, Path(directory), ("helmbundle",), settings):
            yield Fleet(region, count, per_bundle)


def _is_ready(obj: Mapping[str, Any]) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or []
    one = next((one for one in conditions if one["type"] == "Ready"), {})
    return bool(one.get("status") == "True" and one["observedGeneration"] == obj["metadata"]["generation"])


def _looks(log: str) -> tuple[float, dict[str, float]]:
    """When the Lease was held, and when each object was first looked at, in seconds since the epoch."""
    began, looked = 0.0, {}
    for line in log.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        moment = datetime.fromisoformat(entry["time"]).timestamp()
        message = str(entry.get("message"))
        if message.startswith("holding the Lease"):
            began = moment
        elif message.startswith("looked at bundle"):
            looked.setdefault(str(entry.get("object")), moment)
    return began, looked
