"""A region whose credentials can be recognized: each was planted before the region was applied."""

from __future__ import annotations

import base64
import json
import secrets
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller.domain.credentials.generate import SSH_PRIVATE_KEY, SSH_PUBLIC_KEY
from controller.domain.region.required_credentials import region_credentials, region_services
from controller.ports.kubernetes import SECRET
from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.credentials.watched_processes import WatchedProcesses
from tests.cluster.region import RELEASES_WITHOUT_COMPUTE, WITHOUT_COMPUTE, Region, wait_until
from tests.render.region import deployment, library

# Nothing tells of a Secret that was changed or deleted but the next pass.
RESYNC = 5
STORE, SHARED, OFFERED = "from-a-store", "from-the-directory", "for-the-directory"


@dataclass
class Planted:
    """`texts`: what was planted, by `<Secret>/<key>#<number>`; `directory`: another namespace, which
    the region exchanges Secrets with; `watched`: its controllers, from their first credential on, whose
    files for a while are in `temporary`."""

    region: Region
    directory: str
    watched: WatchedProcesses
    temporary: Path
    texts: dict[str, str] = field(default_factory=dict)

    def plant(self, secret: str, key: str) -> str:
        """A text that is nowhere by chance, of the form of a password."""
        rest = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(16))
        text = f"Planted{len(self.texts):03d}x{rest}"
        self.texts[f"{secret}/{key}#{len(self.texts)}"] = text
        return text

    def put(self, namespace: str, name: str, texts: Mapping[str, str], **meta: Any) -> None:
        """Applies a Secret as its only writer."""
        whole = {"name": name, "namespace": namespace, **meta}
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": whole, "data": data}
        self.region.sandbox.kubectl(
            "apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(body)
        )

    def offer(self, namespace: str, name: str, to: str, texts: Mapping[str, str]) -> None:
        notes = {"osctl.dev/offered-to": to}
        self.put(namespace, name, texts, labels={"osctl.dev/shared": "offer"}, annotations=notes)

    def request(self, namespace: str, name: str, source: str) -> None:
        notes = {"osctl.dev/requested-from": source}
        self.put(namespace, name, {}, labels={"osctl.dev/shared": "request"}, annotations=notes)

    def texts_of(self, namespace: str, name: str) -> dict[str, str]:
        found = self.region.kube.get(SECRET, name, namespace) or {}
        return {key: base64.b64decode(text).decode() for key, text in (found.get("data") or {}).items()}

    def deploy(self) -> None:
        """Waits until every release is deployed."""
        wait_until("all releases are deployed", self.deployed, 900.0, lambda: str(self.region.revisions()))

    def deployed(self) -> bool:
        found = self.region.revisions()
        return found.keys() >= RELEASES_WITHOUT_COMPUTE and all(
            status == "deployed" for _, status in found.values()
        )


def spec(region: Region) -> dict[str, Any]:
    """The example, with one credential of a store and one of another namespace."""
    osdpl = region.smaller(WITHOUT_COMPUTE)
    osdpl["spec"].setdefault("features", {})["credentials"] = {
        "placement": {"placement-password": {"name": STORE, "key": "password"}},
        "networking": {"metadata-secret": {"name": SHARED, "key": "text"}},
    }
    return osdpl


@pytest.fixture(scope="session")
def planted(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    """All five containers, and a region that is deployed with planted credentials."""
    namespace, directory = f"test-{secrets.token_hex(4)}", f"directory-{secrets.token_hex(4)}"
    for name in (namespace, directory):
        sandbox.create_namespace(name, {})
    home = tmp_path_factory.mktemp("planted")
    temporary = home / "temporary"
    temporary.mkdir()
    environment = {"RESYNC_SECONDS": str(RESYNC), "TMPDIR": str(temporary)}
    place = f"exchange.namespaces[0].name={directory}"
    names = "exchange.namespaces[0].offers={metadata},exchange.namespaces[0].requests={openstack}"
    for region in installed(sandbox, namespace, home, environment=environment):
        region.install_chart("--set", f"{place},{names}")
        watched = WatchedProcesses(region.controllers.directory / "pids", temporary)
        made, osdpl = Planted(region, directory, watched, temporary), spec(region)
        parsed = deployment(osdpl["spec"]).spec
        for secret in region_credentials(parsed, region_services(parsed, library())):
            kinds = (SSH_PRIVATE_KEY, SSH_PUBLIC_KEY)
            keys = [key for key, kind in secret.credentials.items() if kind not in kinds]
            made.put(namespace, secret.name, {key: made.plant(secret.name, key) for key in keys})
        made.put(namespace, STORE, {"password": made.plant(STORE, "password")})
        made.offer(directory, "metadata", f"{namespace}/{SHARED}", {"text": made.plant(SHARED, "text")})
        made.request(namespace, SHARED, f"{directory}/metadata")
        with watched:
            region.apply(osdpl)
            made.deploy()
            yield made
    for name in (namespace, directory):
        sandbox.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
