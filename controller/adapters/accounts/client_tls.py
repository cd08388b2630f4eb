"""Connections to a server that requires client certificates."""

from __future__ import annotations

import os
import ssl

from controller.errors import ServerUnavailable
from controller.ports.accounts import ServerLogin


def client_context(login: ServerLogin) -> ssl.SSLContext | None:
    """Trusts only the authority of the login, and presents its certificate; None for a server without TLS.

    Raises ServerUnavailable for unreadable certificates.
    """
    if not login.place.client:
        return None
    try:
        context = ssl.create_default_context(cadata=login.ca)
        _show(context, login.certificate, login.key)
    except (OSError, ValueError):  # ssl.SSLError is an OSError; its words may quote the key
        text = f"the certificate in Secret {login.place.client} for {login.place.shown} cannot be used"
        raise ServerUnavailable(text) from None
    return context


def _show(context: ssl.SSLContext, certificate: str, key: str) -> None:
    # The library reads files only, and a key must never be on a disk, so this file is in memory.
    file = os.memfd_create("client", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(file), "w") as content:
            content.write(f"{certificate.rstrip()}\n{key}")
        context.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
