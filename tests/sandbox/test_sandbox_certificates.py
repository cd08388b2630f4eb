"""A control plane's certificates are accepted by whoever verifies strictly, as Python does from 3.13 on."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

from sandbox.certificates import ensure_certificates
from sandbox.patience import patient


def test_a_strict_client_and_its_server_trust_each_other(tmp_path: Path) -> None:
    ensure_certificates(tmp_path)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(tmp_path / "ca.crt"))
    serving.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    asking = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    asking.load_cert_chain(tmp_path / "admin.crt", tmp_path / "admin.key")
    for context in (serving, asking):
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    left, right = socket.socketpair()
    left.settimeout(30)
    right.settimeout(30)

    def serve() -> None:
        with serving.wrap_socket(right, server_side=True) as served:
            served.sendall(b"well")

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    with asking.wrap_socket(left, server_hostname="kubernetes") as asked:
        assert asked.recv(4) == b"well"
    server.join(patient(30))
