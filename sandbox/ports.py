"""Free ports on loopback for the components of one control plane."""

from __future__ import annotations

import random
import socket
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, fields

from sandbox.errors import SandboxError

# Below the kernel's usual ephemeral range (32768..60999): an outgoing connection of some other program
# cannot take a port between our test and the component's own bind.
FIRST_PORT = 20000
LAST_PORT = 32000
TRIES = 2000
# More than one process has listeners at the same time that were not bound yet.
MOST_CLAIMS = 256
_claims: deque[socket.socket] = deque()


@dataclass(frozen=True)
class Ports:
    """One TCP port on 127.0.0.1 for each listener of a control plane, and of its real nodes."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int
    kwok: int
    network: int = 0
    node: int = 0
    node2: int = 0
    node3: int = 0


def is_free(port: int) -> bool:
    """Whether `port` can be bound on 127.0.0.1 now, in the way that Go's servers bind it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError:
            return False
    return True


def claim(port: int) -> bool:
    """Whether no other listener of any sandbox was given the port lately, and none is from now on.

    A process that was given a port binds it seconds later, when it has read its program. What is claimed is a
    name in the kernel, which knows it for as long as we hold it, and forgets it when we end.
    """
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        mark.bind(f"\0osctl-sandbox-port-{port}")
    except OSError:
        mark.close()
        return False
    _claims.append(mark)
    if len(_claims) > MOST_CLAIMS:
        _claims.popleft().close()
    return True


def find_free_port(taken: Collection[int] = ()) -> int:
    """A port that could be bound a moment ago, is not in `taken`, and that no other sandbox was given.

    Raises SandboxError if none is.
    """
    chooser = random.SystemRandom()
    for _ in range(TRIES):
        port = chooser.randint(FIRST_PORT, LAST_PORT)
        if port not in taken and is_free(port) and claim(port):
            return port
    raise SandboxError(f"found no free port between {FIRST_PORT} and {LAST_PORT} on 127.0.0.1")


def find_free_ports() -> Ports:
    """A port of its own for every listener. Another process may still take one before it is used."""
    chosen: dict[str, int] = {}
    for listener in fields(Ports):
        chosen[listener.name] = find_free_port(chosen.values())
    return Ports(**chosen)
