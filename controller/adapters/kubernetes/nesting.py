"""Answers of the API server without what is nested too deeply to be read.

The API server takes values that are nested 10,000 levels deep. Python's reader of JSON gives up long before:
one such object would end the watch of its kind, and each list of it would fail, in every container that reads
that kind. Here the part that is too deep becomes a text, so that the object is read, and refused by what
looks at it.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any, cast

import aiohttp

# Deeper than what any spec may be, which says so in its status (`controller.domain.region.deployment`).
MOST_LEVELS = 200
# Fewer values that end cannot be nested deeper than any reader manages: most answers are not looked through.
_HARMLESS = 500
TOO_DEEP = b'"nested too deeply to be read"'
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)


def without_depths(text: bytes) -> bytes:
    """The JSON text; each map or list below `MOST_LEVELS` is a text instead."""
    if text.count(b"}") + text.count(b"]") < _HARMLESS:
        return text
    parts: list[bytes] = []
    level, kept, cut = 0, 0, 0
    for token in _TOKEN.finditer(text):
        match token[0]:
            case b"{" | b"[":
                level += 1
                if level == MOST_LEVELS + 1:
                    cut = token.start()
            case b"}" | b"]":
                if level == MOST_LEVELS + 1:
                    parts += (text[kept:cut], TOO_DEEP)
                    kept = token.end()
                level -= 1
    return b"".join((*parts, text[kept:])) if parts else text


class ShallowResponse(aiohttp.ClientResponse):
    """What Kopf is given: its own reading of JSON ends the watch where it fails."""

    content: aiohttp.StreamReader

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        await super().start(connection)
        if self.url.query.get("watch"):
            self.content = cast(aiohttp.StreamReader, ShallowLines(self.content))
        return self

    async def json(self, **_: Any) -> Any:
        return json.loads(without_depths(await self.read()))


class ShallowLines:
    """A stream of lines of JSON, given whole line by whole line."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """As aiohttp has it, except for the size of what is given."""
        pending: list[bytes] = []
        async for data in self._content.iter_chunked(size):
            before, newline, after = data.rpartition(b"\n")
            if not newline:
                pending.append(after)
                continue
            whole = b"".join((*pending, before))
            pending = [after]
            yield b"".join(without_depths(line) + b"\n" for line in whole.split(b"\n"))
        if rest := b"".join(pending):
            yield without_depths(rest)
