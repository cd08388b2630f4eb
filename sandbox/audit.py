"""Counts writes to the API server in its audit log.

The log is complete: the API server writes a line before it answers. A dry run counts as a write verb there;
the parameter `dryRun`, or the options of a deletion, show it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

WRITE_VERBS = frozenset({"create", "update", "patch", "delete", "deletecollection"})
# Created to ask the API server something; nothing is stored.
QUESTIONS = frozenset(
    {
        "tokenreviews",
        "subjectaccessreviews",
        "selfsubjectaccessreviews",
        "localsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "selfsubjectreviews",
    }
)


_RECEIVED = '"requestReceivedTimestamp":"'


@dataclass(frozen=True)
class Request:
    """One answered request. `resource` as `deployments` or `pods/status`; `time` is when it came in."""

    time: datetime
    user: str
    agent: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    uri: str
    dry_run: bool

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.time:%H:%M:%S.%f} {self.verb} {self.resource} {place} by {self.user}: {self.code}"


Write = Request
"""A request whose verb writes."""


def now() -> datetime:
    """The present instant, to be given as `since`."""
    return datetime.now(UTC)


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _is_dry_run(event: dict[str, Any]) -> bool:
    if "dryRun" in parse_qs(urlsplit(event.get("requestURI", "")).query):
        return True
    return bool((event.get("requestObject") or {}).get("dryRun"))


def _parse_event(event: dict[str, Any]) -> Request:
    target = event.get("objectRef") or {}
    resource = target.get("resource", "")
    if target.get("subresource"):
        resource = f"{resource}/{target['subresource']}"
    return Request(
        time=_parse_time(event["requestReceivedTimestamp"]),
        user=(event.get("impersonatedUser") or event.get("user") or {}).get("username", ""),
        agent=event.get("userAgent", ""),
        verb=event.get("verb", ""),
        resource=resource,
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=(event.get("responseStatus") or {}).get("code", 0),
        uri=event.get("requestURI", ""),
        dry_run=_is_dry_run(event),
    )


def _files(path: Path, since: datetime | None) -> list[Path]:
    """The log and what was rotated out of it, oldest first, without what ended before `since`."""
    rotated = sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"))
    if since is not None:
        rotated = [one for one in rotated if one.stat().st_mtime >= since.timestamp()]
    return [*rotated, path]


def requests(
    path: Path, since: datetime | None = None, user: str | Collection[str] | None = None
) -> Iterator[Request]:
    """Every request in the log, reads too, of `user` (exact names) and since then. Skips a half line.

    Who acts as another user is that user.
    """
    users = {user} if isinstance(user, str) else user
    # The server writes times in one format of fixed width, so that they compare as text: most lines of a
    # long log need not be parsed.
    earliest = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if since is not None else ""
    for file in _files(path, since):
        with file.open(encoding="utf-8") as log:
            for line in log:
                if _received(line) < earliest:
                    continue
                try:
                    request = _parse_event(json.loads(line))
                except (json.JSONDecodeError, KeyError):
                    continue
                if users is None or request.user in users:
                    yield request


def _received(line: str) -> str:
    """When the request came in, as it stands in the line; empty in half a line."""
    _, _, rest = line.partition(_RECEIVED)
    return rest[: len("2026-01-02T03:04:05.000006Z")]


def writes(
    path: Path,
    since: datetime | None = None,
    user: str | Collection[str] | None = None,
    *,
    leases: bool = False,
    events: bool = False,
    refused: bool = True,
) -> list[Write]:
    """The requests that wrote, or tried to, without dry runs and mere questions (access reviews, tokens).

    `leases` and `events` count those resources too; `refused=False` leaves out answers of 400 and above.
    """
    found = []
    for request in requests(path, since, user):
        kind = request.resource.partition("/")[0]
        asks = kind in QUESTIONS or request.resource == "serviceaccounts/token"
        if request.verb not in WRITE_VERBS or request.dry_run or asks:
            continue
        if (kind == "leases" and not leases) or (kind == "events" and not events):
            continue
        if request.code >= 400 and not refused:
            continue
        found.append(request)
    return found
