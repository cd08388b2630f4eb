"""The marks of a maintenance on services and agents that it disables. Pure."""

from __future__ import annotations

import hashlib

from controller.domain.shared.cloud_facts import MARK

# The length of a reason or description that Nova, Cinder and Neutron keep.
TEXT_LIMIT = 255
NAME_LIMIT = 80
_SEPARATOR = "; "
_ANY = f"{MARK}maintenance "


def mark_of(maintenance: str) -> str:
    """The mark of a maintenance: short enough to be kept complete, and unique."""
    if len(maintenance) > NAME_LIMIT:
        digest = hashlib.sha256(maintenance.encode()).hexdigest()[:8]
        maintenance = f"{maintenance[: NAME_LIMIT - 9]}-{digest}"
    return f"{_ANY}{maintenance}"


def marked(description: str, maintenance: str) -> str:
    """A description with our mark before it; the end of a long one is lost."""
    mark = mark_of(maintenance)
    return f"{mark}{_SEPARATOR}{description}"[:TEXT_LIMIT] if description else mark


def without_mark(description: str, maintenance: str) -> str | None:
    """A description before it was marked; None without this mark."""
    mark = mark_of(maintenance)
    if description == mark:
        return ""
    return description.removeprefix(mark + _SEPARATOR) if description.startswith(mark + _SEPARATOR) else None


def mark_in(text: str) -> str:
    """The mark at the begin of a reason or description, of any maintenance; or empty."""
    return text.partition(_SEPARATOR)[0] if text.startswith(_ANY) else ""


def without_any_mark(description: str) -> str:
    """A description before a maintenance marked it."""
    mark = mark_in(description)
    return description.removeprefix(mark).removeprefix(_SEPARATOR) if mark else description
