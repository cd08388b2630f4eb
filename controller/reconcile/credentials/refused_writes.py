"""Reports of a write that the API server refuses, so that nothing else waits for it."""

from __future__ import annotations

from collections.abc import Callable

from controller.errors import KubeError, is_refusal

REFUSED = (
    "the API server refuses to write or delete it; check quotas and admission policies of its "
    "namespace, the controller's rights, and whether it is immutable"
)


def refusal_of(write: Callable[[], object]) -> str:
    """Does a write. Why the API server refuses it, empty where it does not; not in its own words, which
    may quote the object. Raises any other KubeError."""
    try:
        write()
    except KubeError as error:
        if not is_refusal(error):
            raise
        return REFUSED
    return ""
