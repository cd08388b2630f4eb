"""A proxy before an API server that does what networks and busy servers do: on purpose, and repeatably.

    with FaultProxy(box) as proxy:
        kubeconfig = proxy.service_account_kubeconfig("openstack", "openstack-controller", directory)
        proxy.choose = RandomFaults(seed=7)

Only what uses the proxy's own kubeconfig passes through it, so that its requests are those of one
client. It terminates TLS with the sandbox's own certificate; clients are known by their tokens (a client
certificate does not get through).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.faults import (
    Choose,
    CutAfter,
    CutBefore,
    CutStream,
    Delay,
    ProxiedRequest,
    Refuse,
    Silence,
    is_write_of_work,
    pass_on,
)
from sandbox.http_messages import LARGEST_HEAD, Head, Malformed, body_of, read_head
from sandbox.kubectl import write_service_account_kubeconfig

START_SECONDS = 120.0


@dataclass
class Stop:
    """The world stands still at one write: from then on nothing of the client gets through.

    `at` counts the writes that `counts` accepts, from 1. `after`: that write is done and its answer
    kept back; else the API server never sees it. `seen` is how many came so far.
    """

    at: int
    after: bool
    counts: Callable[[ProxiedRequest], bool]
    seen: int = 0
    request: ProxiedRequest | None = None
    _reached: threading.Event = field(default_factory=threading.Event)

    def wait(self, timeout: float) -> bool:
        """Whether it was reached within so many seconds: the write stands where it should."""
        return self._reached.wait(timeout)

    @property
    def reached(self) -> bool:
        """Whether the world stands still now."""
        return self._reached.is_set()

    def reach(self) -> None:
        """Called by the proxy when the write stands."""
        self._reached.set()


class FaultProxy:
    """The proxy of one sandbox, on a thread of its own. A context manager.

    `choose` is asked for each request, on the proxy's thread, and may be replaced at any time.
    `requests` keeps all that came, oldest first.
    """

    def __init__(self, box: Sandbox, choose: Choose = pass_on) -> None:
        self.choose = choose
        self.requests: list[ProxiedRequest] = []
        self.port = 0
        self._box = box
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fault proxy", daemon=True)
        self._started = threading.Event()
        self._stop: Stop | None = None
        self._halted = False
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(START_SECONDS) or not self.port:
            raise SandboxError("the fault proxy did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_SECONDS)

    # -- use ----------------------------------------------------------------------------------------

    def service_account_kubeconfig(self, namespace: str, name: str, directory: Path) -> Path:
        """A kubeconfig of this ServiceAccount that leads through the proxy."""
        cluster = {
            "server": f"https://127.0.0.1:{self.port}",
            "certificate-authority": str(self._box.layout.pki / "ca.crt"),
        }
        return write_service_account_kubeconfig(self._box.kubectl, cluster, namespace, name, directory)

    def stop_at(
        self,
        number: int,
        *,
        after: bool = False,
        counts: Callable[[ProxiedRequest], bool] = is_write_of_work,
    ) -> Stop:
        """Will halt the client at its `number`-th write from now on; see `Stop`. Replaces an earlier one."""
        stop = Stop(number, after, counts)
        self._stop = stop
        return stop

    def resume(self) -> None:
        """Breaks every connection that is open and lets new ones through; takes an unreached stop back."""
        done = threading.Event()

        def release() -> None:
            self._stop, self._halted = None, False
            self._break_all()
            done.set()

        self._loop.call_soon_threadsafe(release)
        done.wait(START_SECONDS)

    def break_connections(self) -> None:
        """Every connection that is open breaks now."""
        self._loop.call_soon_threadsafe(self._break_all)

    def writes(self) -> list[ProxiedRequest]:
        """What would have changed something, so far, without Leases."""
        return [one for one in tuple(self.requests) if is_write_of_work(one)]

    # -- the proxy's own thread ---------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            server = self._loop.run_until_complete(self._listen())
            self._started.set()
            self._loop.run_forever()
            server.close()
            self._break_all()
            self._loop.run_until_complete(asyncio.gather(*self._connections, return_exceptions=True))
        finally:
            self._started.set()
            self._loop.close()

    async def _listen(self) -> asyncio.Server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._box.layout.pki / "server.crt", self._box.layout.pki / "server.key")
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context, limit=LARGEST_HEAD)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def _break_all(self) -> None:
        for task, writer in tuple(self._connections.items()):
            writer.transport.abort()
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs a connection as a task
        self._connections[task] = writer
        upstream = _Upstream(self._box)
        try:
            while (head := await read_head(reader)) is not None:
                body = b"".join([piece async for piece in body_of(reader, head)])
                if not await self._answer(upstream, writer, head, body):
                    break
        except (OSError, Malformed, ssl.SSLError, ValueError):
            pass  # either side is gone: the other one sees a broken connection
        except asyncio.CancelledError:
            pass  # broken on purpose
        finally:
            del self._connections[task]
            upstream.close()
            writer.transport.abort()

    async def _answer(
        self, upstream: _Upstream, writer: asyncio.StreamWriter, head: Head, body: bytes
    ) -> bool:
        """Deals with one request; whether the connection lives on."""
        request = self._note(head)
        stop = self._counted(request)
        if self._halted:
            if stop is not None and stop.after:
                await upstream.collect(head, body)
            if stop is not None:
                stop.reach()
            await asyncio.Event().wait()  # until the connection is broken
        fault = self.choose(request)
        if isinstance(fault, Delay):
            await asyncio.sleep(fault.seconds)
        elif isinstance(fault, Silence):
            await asyncio.sleep(fault.seconds)
            return False
        elif isinstance(fault, CutBefore):
            return False
        elif isinstance(fault, CutAfter):
            await upstream.collect(head, body)
            return False
        elif isinstance(fault, Refuse):
            writer.write(_refusal(fault))
            await writer.drain()
            return True
        if isinstance(fault, CutStream):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(upstream.relay(head, body, writer), fault.seconds)
            return False
        return await upstream.relay(head, body, writer)

    def _note(self, head: Head) -> ProxiedRequest:
        try:
            method, target, _ = head.first.split(" ", 2)
        except ValueError:
            raise Malformed(f"no request: {head.first[:80]}") from None
        number = len(self.requests) + 1
        request = ProxiedRequest(number, method, target, head.fields.get("user-agent", ""))
        self.requests.append(request)
        return request

    def _counted(self, request: ProxiedRequest) -> Stop | None:
        """The stop that this very request reaches, if it does."""
        stop = self._stop
        if stop is None or self._halted or not stop.counts(request):
            return None
        stop.seen += 1
        if stop.seen < stop.at:
            return None
        stop.request = request
        self._halted = True
        return stop


class _Upstream:
    """One connection to the API server, opened with the first request."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def relay(self, head: Head, body: bytes, client: asyncio.StreamWriter) -> bool:
        """Passes the request on and the answer back as it comes; whether the connection lives on."""
        answer, pieces = await self._ask(head, body)
        client.write(answer.raw)
        async for piece in pieces:
            client.write(piece)
            await client.drain()
        await client.drain()
        return not answer.closes and not head.closes

    async def collect(self, head: Head, body: bytes) -> int:
        """Passes the request on and keeps the answer back; its status."""
        answer, pieces = await self._ask(head, body)
        async for _ in pieces:
            pass
        return answer.status

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()

    async def _ask(self, head: Head, body: bytes) -> tuple[Head, AsyncIterator[bytes]]:
        if self._streams is None:
            self._streams = await _connect(self._box)
        reader, writer = self._streams
        writer.write(head.raw + body)
        await writer.drain()
        answer = await read_head(reader)
        if answer is None:
            raise Malformed("the API server ended the connection")
        empty = head.first.startswith("HEAD ") or answer.status in (204, 304)
        return answer, body_of(reader, answer, has_body=not empty)


async def _connect(box: Sandbox) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = ssl.create_default_context(cafile=str(box.layout.pki / "ca.crt"))
    port = box.state.ports.apiserver
    return await asyncio.open_connection("127.0.0.1", port, ssl=context, limit=LARGEST_HEAD)


# As an API server words them: clients tell from the text what another try may help.
_WORDS = {
    429: "Too many requests, please try again later.",
    500: "Internal error occurred: injected fault",
    503: "the server is currently unable to handle the request",
}


def _refusal(fault: Refuse) -> bytes:
    """An answer as an API server writes it."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": _WORDS.get(fault.status, "injected fault"),
        "code": fault.status,
    }
    body = json.dumps(status).encode()
    lines = [f"HTTP/1.1 {fault.status} Injected", "Content-Type: application/json"]
    if fault.retry_after is not None:
        lines.append(f"Retry-After: {fault.retry_after}")
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
