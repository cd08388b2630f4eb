"""Credentials that can be recognized are nowhere but in Secrets, after all that the tests beside have done to
the region that uses them: installs, upgrades, losses, exchanges."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.paths import Layout
from tests.cluster.credentials.conftest import Planted
from tests.cluster.leaks import shown_by_files
from tests.cluster.region import CONTAINERS, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("planted"), pytest.mark.timeout(1800)]


def listed(region: Region, namespace: str, kinds: list[str]) -> Iterator[tuple[str, str]]:
    """Every object of these kinds; each kind by itself where one of them cannot be listed."""
    try:
        text = region.sandbox.kubectl("-n", namespace, "get", ",".join(kinds), "-o", "json")
    except SandboxError:
        if len(kinds) > 1:
            for kind in kinds:
                yield from listed(region, namespace, [kind])
        return  # what is listed only to be asked, such as reviews
    for obj in json.loads(text)["items"]:
        yield f"{obj['kind']} {obj['metadata']['name']} of {namespace}", json.dumps(obj)


def shown(planted: Planted) -> Iterator[tuple[str, str]]:
    """Every text that someone may read who may read no Secret: a name for it, and the text."""
    region = planted.region
    for container in CONTAINERS:
        yield f"log of {container}", region.controllers.log(container)
        yield f"metrics of {container}", region.controllers.metrics(container)
    kinds = region.sandbox.kubectl("api-resources", "--verbs=list", "--namespaced", "-o", "name").split()
    for namespace in (region.namespace, planted.directory, "default"):
        yield from listed(region, namespace, [kind for kind in kinds if kind != "secrets"])
        found = json.loads(region.sandbox.kubectl("-n", namespace, "get", "secrets", "-o", "json"))
        yield f"metadata of Secrets of {namespace}", json.dumps([one["metadata"] for one in found["items"]])
    for kind in ("nodes", "namespaces", "clusterroles", "computemaintenances"):
        yield kind, region.sandbox.kubectl("get", kind, "-o", "json")
    for (command, what), texts in list(planted.watched.texts.items()):
        yield f"{what} of {command}", "\n".join(list(texts))
    for path in region.controllers.directory.rglob("*"):
        if path.is_file():
            yield f"file {path.name}", path.read_bytes().decode(errors="replace")
    layout: Layout | None = getattr(region.sandbox, "layout", None)  # a cluster of others has none
    yield from shown_by_files(layout.logs) if layout else ()


def dump_sizes(planted: Planted) -> set[str]:
    """How much of its memory a container may leave behind when it crashes."""
    found = set()
    for identity in processes.find_owned(planted.region.controllers.directory):
        lines = Path(f"/proc/{identity.pid}/limits").read_text().splitlines()
        found |= {line.split()[4] for line in lines if line.startswith("Max core file size")}
    assert found
    return found


def test_planted_credentials_are_nowhere_but_in_secrets(planted: Planted) -> None:
    assert len(planted.texts) >= 25
    forms = {
        name: (text, base64.b64encode(text.encode()).decode().rstrip("="))
        for name, text in planted.texts.items()
    }
    found, looked, measured = set(), 0, 0
    for place, text in shown(planted):
        looked += 1
        measured += "osctl_" in text and place.startswith("metrics of ")
        found |= {f"{name} in {place}" for name, both in forms.items() if any(form in text for form in both)}
    assert looked > 60
    assert measured == len(CONTAINERS)
    assert sorted(found) == []
    assert "python" in {command for command, _ in planted.watched.texts}
    # It is theirs, and would be seen: what they have put there may have been gone between two looks. Helm
    # keeps there what the API server can do.
    kept = sorted(path.name for path in planted.temporary.iterdir())
    assert [name if not name.startswith("helm-") else "helm" for name in kept] == ["helm", "osctl-charts"]
    (planted.temporary / "seen").touch()
    wait_until("a file is seen", lambda: ("a temporary file", "seen") in planted.watched.texts)
    assert dump_sizes(planted) <= {"0", "1"}
