"""Messages about expiring certificates: once for each certificate and threshold. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.shared.plurals import count

_DAY = 86400.0
# The values of `endsWithin` in the status, with their seconds. The first two are those of the alert
# OpenStackCertificateExpires; a certificate that is renewed in time never reaches them.
THRESHOLDS = {"14d": 14 * _DAY, "2d": 2 * _DAY, "0d": 0.0}
_REMEDY = (
    "replace it if it is your own; otherwise find out why it was not renewed "
    "(docs/runbooks/OpenStackCertificateExpires.md)"
)


def ends_within(end: float, now: float) -> str:
    """The narrowest threshold that `end` has passed (both in seconds since the epoch), "" for none."""
    return next((word for word, left in reversed(THRESHOLDS.items()) if end - now < left), "")


def ending_soon(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Sentences for `after` (`status.secrets`) that were not reported with `before`.

    A certificate is identified by its Secret and its end, so that its successor is reported again.
    """
    together: dict[tuple[str, str], list[str]] = {}
    for name, entry in sorted(after.items()):
        told = _end_of(before.get(name) or {})
        due = _end_of(entry)
        if due is not None and due != told:
            together.setdefault(due, []).append(name)
    return tuple(_sentences(together))


def _end_of(entry: Mapping[str, Any]) -> tuple[str, str] | None:
    within = entry.get("endsWithin")
    return (str(entry.get("expires")), str(within)) if within else None


def _sentences(together: Mapping[tuple[str, str], list[str]]) -> Iterator[str]:
    for (expires, within), names in sorted(together.items()):
        secrets = ", ".join(f'"{name}"' for name in names)
        what = f"certificate in Secret {secrets}" if len(names) == 1 else f"certificates in Secrets {secrets}"
        verb = "ends" if len(names) == 1 else "end"
        day = expires.partition("T")[0]
        days = int(THRESHOLDS.get(within, 0.0) // _DAY)
        when = f"{verb} on {day}, in less than {count(days, 'day')}" if days else f"ended on {day}"
        yield f"the {what} {when}: {_REMEDY}"
