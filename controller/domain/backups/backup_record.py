"""The outcome of a backup or a drill, as the last container of its pod leaves it: a word and a text on each
line. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from controller.domain.backups.manifest import BACKUP_ID

# Kubernetes keeps so much of the message of a container.
LARGEST_RECORD = 4096
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NUMBER = re.compile(r"[0-9]{1,15}")
_TEXT = re.compile(r"[^\x00-\x1f\x7f]{1,400}")
_WORDS = {
    "id": BACKUP_ID,
    "started": _TIME,
    "ended": _TIME,
    "manifest": _DIGEST,
    "bytes": _NUMBER,
    "databases": _NUMBER,
    "tables": _NUMBER,
    "warning": _TEXT,
}
_REQUIRED = ("id", "ended")


@dataclass(frozen=True)
class BackupRecord:
    """One backup. `started`: when the dump began. `size`: the bytes of all files. `manifest`: the digest of
    the manifest. `warning`: what did not succeed, although the backup is complete."""

    id: str
    ended: str = ""
    started: str = ""
    size: int = 0
    databases: int = 0
    tables: int = 0
    manifest: str = ""
    warning: str = ""

    def lines(self) -> str:
        """The lines, without what is not known yet."""
        found = {
            "id": self.id,
            "started": self.started,
            "ended": self.ended,
            "bytes": str(self.size),
            "databases": str(self.databases),
            "tables": str(self.tables),
            "manifest": self.manifest,
            "warning": self.warning,
        }
        return "".join(f"{word} {text}\n" for word, text in found.items() if text)


def parse_record(text: str) -> BackupRecord | None:
    """The record in a message of a container; None if the message is none, or is cut."""
    if len(text) > LARGEST_RECORD:
        return None
    found: dict[str, str] = {}
    for line in text.splitlines():
        word, _, value = line.partition(" ")
        if word not in _WORDS or word in found or not _WORDS[word].fullmatch(value):
            return None
        found[word] = value
    if any(word not in found for word in _REQUIRED):
        return None
    return BackupRecord(
        id=found["id"],
        ended=found["ended"],
        started=found.get("started", ""),
        size=int(found.get("bytes", 0)),
        databases=int(found.get("databases", 0)),
        tables=int(found.get("tables", 0)),
        manifest=found.get("manifest", ""),
        warning=found.get("warning", ""),
    )
