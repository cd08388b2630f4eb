"""Between the networks of the machine and of the nodes, for three things only: the API server from inside,
pods and kubelets from the API server, and the question whether a node works.

A node has no link to the machine's network. A socket belongs to the network namespace that it was made in,
so one process with sockets of both carries bytes between them.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

CLONE_NEWNET = 0x40000000
CHUNK = 1 << 16
CONNECT_SECONDS = 10.0
HEAD_LIMIT = 8192
_libc = ctypes.CDLL(None, use_errno=True)


class NetworkNamespace:
    """The network namespace of a process, entered for as long as a socket is made."""

    def __init__(self, pid: int) -> None:
        self._other = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """The calling thread is in the namespace. Raises OSError."""
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._enter(self._other)
            try:
                yield
            finally:
                self._enter(own)
        finally:
            os.close(own)

    def _enter(self, descriptor: int) -> None:
        if _libc.setns(descriptor, CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"cannot enter a network namespace: {os.strerror(number)}")


def leave_network() -> None:
    """Puts the calling process, which has one thread, into a network namespace of its own. Raises OSError."""
    if _libc.unshare(CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot make a network namespace: {os.strerror(number)}")


def tcp_socket(namespace: NetworkNamespace | None = None) -> socket.socket:
    """A TCP socket of this process's network or of the given one, that does not block."""
    with namespace.entered() if namespace is not None else contextlib.nullcontext():
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setblocking(False)
    return made


def listening(address: str, port: int, namespace: NetworkNamespace | None = None) -> socket.socket:
    """A socket that listens. Raises OSError."""
    made = tcp_socket(namespace)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((address, port))
    made.listen(128)
    return made


async def connect(
    address: str, port: int, namespace: NetworkNamespace | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection from within that network. Raises OSError (TimeoutError is one)."""
    made = tcp_socket(namespace)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await asyncio.get_running_loop().sock_connect(made, (address, port))
    except BaseException:
        made.close()
        raise
    return await asyncio.open_connection(sock=made)


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copies until the source ends, and then closes the target for writing."""
    with contextlib.suppress(OSError):
        while data := await source.read(CHUNK):
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()


async def _join(
    one: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    other: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    try:
        await asyncio.gather(_carry(one[0], other[1]), _carry(other[0], one[1]))
    finally:
        for _, writer in (one, other):
            writer.close()


async def serve_api(listener: socket.socket, api_port: int, machine: NetworkNamespace) -> asyncio.Server:
    """Who connects to the listener speaks with 127.0.0.1:`api_port` of the machine."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server = await connect("127.0.0.1", api_port, machine)
        except OSError:
            writer.close()
            return
        await _join((reader, writer), server)

    return await asyncio.start_server(carry, sock=listener)


def parse_connect(head: bytes) -> tuple[str, int] | None:
    """Address and port of an HTTP CONNECT request; None for any other, or for a name."""
    line = head.split(b"\r\n", 1)[0].decode("ascii", "replace").split(" ")
    if len(line) != 3 or line[0] != "CONNECT":
        return None
    address, _, port = line[1].rpartition(":")
    try:
        socket.inet_aton(address)
    except OSError:
        return None
    return (address, int(port)) if port.isdigit() and 0 < int(port) < 65536 else None


async def serve_egress(path: Path) -> asyncio.Server:
    """A proxy on a Unix socket that connects (HTTP CONNECT) to addresses of this process's network."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()
            return
        wanted = parse_connect(head)
        try:
            if wanted is None:
                raise OSError("no CONNECT to an address")
            server = await connect(*wanted)
        except OSError as error:
            text = str(error).encode("ascii", "replace").replace(b"\n", b" ")
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nX-Error: " + text + b"\r\n\r\n")
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _join((reader, writer), server)

    path.unlink(missing_ok=True)
    mask = os.umask(0o177)
    try:
        return await asyncio.start_unix_server(carry, str(path), limit=HEAD_LIMIT)
    finally:
        os.umask(mask)


async def answers_well(port: int, path: str, namespace: NetworkNamespace | None) -> bool:
    """Whether a program of the node says 200 on its health port."""
    try:
        reader, writer = await connect("127.0.0.1", port, namespace)
        try:
            writer.write(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            async with asyncio.timeout(CONNECT_SECONDS):
                line = await reader.readline()
        finally:
            writer.close()
    except OSError:
        return False
    return b" 200 " in line


async def serve_health(
    listener: socket.socket,
    namespace: NetworkNamespace | None = None,
    checks: Sequence[tuple[int, str]] = (),
) -> asyncio.Server:
    """Answers each request: 200 when all checks pass, which are made in the namespace (of a node)."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await reader.readuntil(b"\r\n\r\n")
            passed = await asyncio.gather(*(answers_well(*check, namespace) for check in checks))
            state = b"200 OK" if all(passed) else b"503 Service Unavailable"
            writer.write(b"HTTP/1.1 " + state + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, sock=listener)
