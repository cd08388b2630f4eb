"""One line of the log for each thing that a container does, with the same fields in all of them."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


def log_action(
    action: str,
    object_: str,
    text: str,
    *,
    reason: str = "",
    error: Exception | str = "",
    **fields: str | float,
) -> None:
    """To be called once for what was done, or was tried in vain (`error`).

    `action` is a word for machines, such as `apply` or `disable-compute-service`; `object_` what it was
    done to: `namespace/name` of a Kubernetes object, the host, server or router in OpenStack. `text` is the
    same for people, and holds no secret. `fields`: `release`, `bundle` and `duration` (seconds) where they
    are known.
    """
    extra: dict[str, str | float] = {
        "action": action,
        "object": object_,
        "result": "failed" if error else "done",
        **fields,
    }
    if reason or isinstance(error, Exception):
        extra["reason"] = reason or type(error).__name__
    if error:
        log.warning("%s: %s", text, error, extra=extra)
    else:
        log.info("%s", text, extra=extra)
