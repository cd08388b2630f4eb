"""The text that values refer to in a Secret of the region."""

from __future__ import annotations

from controller.domain.credentials.clouds_yaml import KeyOfSecret
from controller.domain.shared.secret_text import decode_text
from controller.domain.values.secret_refs import reserved
from controller.ports.kubernetes import SECRET, Kube


def secret_text(kube: Kube, source: KeyOfSecret | str, namespace: str) -> str | None:
    """The text that a reference leads to; None where there is none, or none that may be given away. Raises
    KubeError."""
    if isinstance(source, str):
        return source
    secret = kube.get(SECRET, source.name, namespace)
    if reserved(source.name, str((secret or {}).get("type") or "")):
        return None
    return decode_text(((secret or {}).get("data") or {}).get(source.key) or "")
