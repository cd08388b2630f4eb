"""HTTP/1.1 messages on asyncio streams, as far as a proxy before an API server must know them (RFC 9112)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

LARGEST_HEAD = 256 * 1024
_PIECE = 64 * 1024


class Malformed(Exception):
    """What came is no HTTP/1.1 message."""


@dataclass(frozen=True)
class Head:
    """The first line of a message and its headers: `raw` as it came, `fields` by their small names."""

    raw: bytes
    first: str
    fields: dict[str, str]

    @property
    def chunked(self) -> bool:
        """Whether the body comes in chunks, each with its length before it."""
        return "chunked" in self.fields.get("transfer-encoding", "").lower()

    @property
    def length(self) -> int:
        """Octets of the body where it has a known length, else 0."""
        return int(self.fields.get("content-length") or 0)

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this message."""
        return self.fields.get("connection", "").lower() == "close"

    @property
    def status(self) -> int:
        """The status code, of an answer."""
        return int(self.first.split(" ", 2)[1])


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next message's head, None where the connection ends before one. Raises Malformed."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise Malformed("the connection ended within a head") from None
        return None
    except asyncio.LimitOverrunError:
        raise Malformed("the head of a message is too long") from None
    first, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
    fields = {}
    for line in lines:
        name, separator, text = line.partition(":")
        if not separator:
            raise Malformed(f"no header: {line[:80]}")
        fields[name.strip().lower()] = text.strip()
    return Head(raw, first, fields)


def body_of(reader: asyncio.StreamReader, head: Head, *, has_body: bool = True) -> AsyncIterator[bytes]:
    """The body as it comes over the wire, chunk lengths included, so that it can be passed on at once.

    `has_body` False: an answer that has none whatever its headers say (to HEAD, 204, 304). An answer
    without length and chunks would last until the connection ends; API servers send no such one.
    """
    if not has_body:
        return _nothing()
    return _chunks(reader) if head.chunked else _octets(reader, head.length)


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


async def _octets(reader: asyncio.StreamReader, length: int) -> AsyncIterator[bytes]:
    while length > 0:
        piece = await reader.read(min(length, _PIECE))
        if not piece:
            raise Malformed("the connection ended within a body")
        length -= len(piece)
        yield piece


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        line = await _line(reader)
        size = int(line.split(b";", 1)[0], 16)
        if size == 0:
            # The last chunk, trailers, and an empty line.
            end = line
            while (trailer := await _line(reader)) != b"\r\n":
                end += trailer
            yield end + b"\r\n"
            return
        try:
            yield line + await reader.readexactly(size + 2)
        except asyncio.IncompleteReadError:
            raise Malformed("the connection ended within a chunk") from None


async def _line(reader: asyncio.StreamReader) -> bytes:
    line = await reader.readline()
    if not line.endswith(b"\r\n"):
        raise Malformed("the connection ended within a line")
    return line
