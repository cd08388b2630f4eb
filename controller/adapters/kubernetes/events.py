"""Kubernetes Events: one object per (object, reason, message), with a count of repetitions."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.api.shortened_text import shorten
from controller.errors import Conflict, KubeError
from controller.ports.kubernetes import EVENT, Kube
from controller.ports.system import Clock

log = logging.getLogger(__name__)

# Bound of core/v1 Event.message (k8s.io/kubernetes/pkg/apis/core/validation/events.go: NoteLengthLimit).
MESSAGE_LIMIT = 1024


class KubeEvents:
    """`controller.ports.kubernetes.Events`.

    A failure to record is only logged, because the status has the truth.
    """

    def __init__(self, kube: Kube, clock: Clock, *, component: str, instance: str) -> None:
        self._kube = kube
        self._clock = clock
        self._component = component
        self._instance = instance

    def emit(
        self, obj: Mapping[str, Any], *, type_: str, reason: str, message: str, logged: bool = False
    ) -> None:
        """As in the port; the same text on the same object raises one Event's count."""
        meta = obj["metadata"]
        text = shorten(message, MESSAGE_LIMIT)
        where = "/".join(str(meta[key]) for key in ("namespace", "name") if meta.get(key))
        if not logged:
            level = logging.INFO if type_ == "Normal" else logging.WARNING
            log.log(level, "%s", text, extra={"object": where, "reason": str(reason)})
        namespace = str(meta.get("namespace") or "default")
        seed = "\x00".join((str(meta.get("uid")), self._component, type_, reason, text))
        name = f"{meta['name'][:200]}.{hashlib.sha256(seed.encode()).hexdigest()[:16]}"
        now = timestamp(self._clock.now())
        event = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {
                "apiVersion": obj["apiVersion"],
                "kind": obj["kind"],
                "name": meta["name"],
                "namespace": meta.get("namespace"),
                "uid": meta.get("uid"),
            },
            "type": type_,
            "reason": str(reason),
            "message": text,
            "source": {"component": f"osctl-{self._component}"},
            "reportingComponent": f"osctl.dev/{self._component}",
            "reportingInstance": self._instance,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            self._record(event)
        except KubeError as error:
            log.warning("event not recorded: %s", error, extra={"object": where, "reason": str(reason)})

    def _record(self, event: dict[str, Any]) -> None:
        try:
            self._kube.create(event)
        except Conflict:
            meta = event["metadata"]
            known = self._kube.get(EVENT, meta["name"], meta["namespace"]) or {}
            more = {"count": int(known.get("count") or 0) + 1, "lastTimestamp": event["lastTimestamp"]}
            self._kube.merge_patch(EVENT, meta["name"], meta["namespace"], more)
