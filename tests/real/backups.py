"""Backups of a region in real pods, and what its projects have."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox.cluster import Sandbox
from sandbox.images.recipes import REGISTRY
from tests.real.region import edit, items, osctl, wait_until

CONTENT = Path(__file__).with_name("region_content.py")
RESTIC_IMAGE = f"{REGISTRY}/restic/restic:0.18.1"

Ask = Callable[..., dict[str, Any]]


def asker(client: Callable[[str], str]) -> Ask:
    """Runs `region_content.py` in the client's pod with these words; what it prints."""

    def run(*words: str) -> dict[str, Any]:
        text = f"import sys\nsys.argv[1:] = {list(words)!r}\n{CONTENT.read_text()}"
        found: dict[str, Any] = json.loads(client(text).splitlines()[-1])
        return found

    return run


def send_backups(box: Sandbox, destination: dict[str, Any], mark: str) -> None:
    """Sets where backups go, and waits for the CronJobs that do so. `mark`: a text that they have then."""
    edit(box, {"features": {"backup": {"destination": {"claim": None, "s3": None, **destination}}}})

    def seen() -> bool:
        found = [one for one in items(box, "cronjobs") if one["metadata"]["name"].startswith("region-backup")]
        return len(found) == 2 and all(mark in json.dumps(one) for one in found)

    wait_until(seen, "no CronJob makes such backups", 120)


def made_backup(box: Sandbox) -> str:
    """The id of a backup that is made now."""
    began = time.monotonic()
    found: str = osctl(box, "backup", "now").partition(":")[0]
    print(f"backup {found} took {time.monotonic() - began:.0f} s")
    return found
