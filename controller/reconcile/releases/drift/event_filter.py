"""Events of drift that nothing is done about, or not now: what is corrected reports itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.releases.bundle_status import ReleaseView
from controller.ports.kubernetes import Events

_REPORTED = (Reason.DRIFTED, Reason.DRIFT_RECURS, Reason.RECORD_UNREADABLE)
# As the API server allows for the message of an event (events.k8s.io, noteLengthLimit).
MESSAGE_LIMIT = 1000


def report_drift(events: Events, obj: Mapping[str, Any], view: ReleaseView, *, corrected: bool) -> None:
    """Emits an event when drift is found that the bundle's status does not know of yet.

    `obj` is the bundle as it was read. `corrected`: it is being corrected, which has its own event.
    """
    if view.reason not in _REPORTED or corrected:
        return
    known = (obj.get("status") or {}).get("releases") or []
    before: Mapping[str, Any] = next((one for one in known if one.get("name") == view.name), {})
    after = view.entry()
    if (before.get("reason"), before.get("drift")) == (after.get("reason"), after.get("drift")):
        return
    text = shorten(f"release {view.name}: {view.message}", MESSAGE_LIMIT)
    events.emit(obj, type_=view.reason.event, reason=view.reason, message=text)
