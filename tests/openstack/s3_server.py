"""A real S3 server on loopback with a certificate of its own authority, and a network that cuts connections.

The server is a program of a Go module, built once into the cache.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.certificates import ensure_certificates
from sandbox.locks import locked
from sandbox.paths import cache_root
from sandbox.patience import patient

MODULE, VERSION = "github.com/versity/versitygw/cmd/versitygw", "v1.8.0"
ACCESS, SECRET = "of-the-bucket", "secret-of-the-bucket"
HOST = "127.0.0.1"


def server_program() -> Path | None:
    """The program; None where it is not there and no Go could build it."""
    place = cache_root() / "s3-server" / VERSION
    program = place / "versitygw"
    with locked(place.parent / "build.lock", timeout=1800):
        if program.exists():
            return program
        go = shutil.which("go")
        if go is None:
            return None
        env = {**os.environ, "GOBIN": str(place)}
        subprocess.run([go, "install", f"{MODULE}@{VERSION}"], env=env, check=True, timeout=1800)
    return program


@dataclass(frozen=True)
class S3Server:
    """A server that runs. `authority` is the certificate of its authority."""

    port: int
    data: Path
    authority: str

    def endpoint(self, port: int = 0) -> str:
        """Its address, or that of a proxy before it."""
        return f"https://{HOST}:{port or self.port}"


@contextmanager
def s3_server(program: Path, place: Path) -> Iterator[S3Server]:
    """The server, with its data in an empty directory."""
    certificates, data = place / "certificates", place / "data"
    ensure_certificates(certificates)
    (data / "backups").mkdir(parents=True)
    (place / "meta").mkdir()
    port = _free_port()
    command = [str(program), "--quiet", "--port", f"{HOST}:{port}", "--access", ACCESS, "--secret", SECRET]
    command += ["--cert", str(certificates / "server.crt"), "--key", str(certificates / "server.key")]
    command += ["posix", "--sidecar", str(place / "meta"), str(data)]
    with (place / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + patient(30)
        while not _answers(port):
            assert process.poll() is None and time.monotonic() < deadline, (place / "log").read_text()
            time.sleep(0.1)
        yield S3Server(port, data, (certificates / "ca.crt").read_text())
    finally:
        process.terminate()
        process.wait(timeout=patient(30))


@contextmanager
def cut_network(port: int, after: int) -> Iterator[int]:
    """The port of a network to `port` that ends for good once `after` octets have gone there."""
    listener = socket.create_server((HOST, 0))
    left, open_sockets = [after], []

    def carry(source: socket.socket, target: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            while octets := source.recv(65536):
                if counted:
                    left[0] -= len(octets)
                if left[0] <= 0:
                    break
                target.sendall(octets)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                if left[0] <= 0:
                    client.close()
                    continue
                server = socket.create_connection((HOST, port))
                open_sockets.extend((client, server))
                for pair in ((client, server, True), (server, client, False)):
                    threading.Thread(target=carry, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.close()
        for one in open_sockets:
            one.close()


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])
