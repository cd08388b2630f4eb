"""HTTP with a total deadline, however slowly the other side sends."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool


class BoundedAdapter(HTTPAdapter):
    """Closes all of its connections `seconds` after its creation.

    The timeouts of libraries apply to each part, so a slow header or handshake could last without end. After
    `close` it closes nothing more. `certified` is the name in the server's certificate, if it is not the host
    of the URL.
    """

    def __init__(self, seconds: float, context: ssl.SSLContext | None = None, certified: str = "") -> None:
        self._context = context
        self._certified = certified
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._cut = False
        super().__init__()
        self._timer = threading.Timer(seconds, self._cut_off)
        self._timer.daemon = True
        self._timer.start()

    @property
    def cut(self) -> bool:
        """Whether the time was over. Then an answer may look complete, but is not."""
        return self._cut

    def watch(self, connection: socket.socket) -> None:
        """A new connection. The copy is closed, because TLS replaces the number of the first one."""
        with self._lock:
            self._sockets.append(connection.dup())
            if self._cut:
                self._shut()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **{**kwargs, **self._trust()})
        self.poolmanager.pool_classes_by_scheme = self._pools()

    def proxy_manager_for(self, proxy: Any, **kwargs: Any) -> Any:
        found = super().proxy_manager_for(proxy, **{**kwargs, **self._trust()})
        found.pool_classes_by_scheme = self._pools()
        return found

    def close(self) -> None:
        self._timer.cancel()
        super().close()
        with self._lock:
            for one in self._sockets:
                one.close()
            self._sockets.clear()

    def _trust(self) -> dict[str, Any]:
        trust: dict[str, Any] = {"ssl_context": self._context} if self._context else {}
        if self._certified:
            trust |= {"server_hostname": self._certified, "assert_hostname": self._certified}
        return trust

    def _cut_off(self) -> None:
        with self._lock:
            self._cut = True
            self._shut()

    def _shut(self) -> None:
        for one in self._sockets:
            # It may have ended by itself.
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _pools(self) -> dict[str, type[HTTPConnectionPool]]:
        return {"http": _watched(HTTPConnectionPool, self), "https": _watched(HTTPSConnectionPool, self)}


def _watched(base: type[HTTPConnectionPool], adapter: BoundedAdapter) -> type[HTTPConnectionPool]:
    """The pool, which reports each connection to the adapter before its first use."""
    plain: Any = base.ConnectionCls

    class BoundedConnection(plain):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            made: socket.socket = super()._new_conn()
            adapter.watch(made)
            return made

    return type("WatchedPool", (base,), {"ConnectionCls": BoundedConnection})
