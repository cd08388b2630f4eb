"""Holds the passes of a container while its controller may not serve the region, by their versions.

The container core reports it in the region's conditions. The others wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controller.domain.region.controller_skew import refused_controller
from controller.ports.kubernetes import OSDPL, Kube

RETRY_SECONDS = 15.0


class OlderController:
    """For the life of a process. Only another holder of its Lease could bring a newer version later, so that
    a region that was found once is not read again. `found` gets each region that was read."""

    def __init__(
        self,
        kube: Kube,
        namespace: str,
        version: str,
        found: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> None:
        self._kube = kube
        self._namespace = namespace
        self._version = version
        self._found = found
        self._may_act = False

    def hold(self, reconcile: Callable[..., float | None]) -> Callable[..., float | None]:
        """The same passes, each put off until this controller may act. They raise KubeError."""

        def held(*key: str) -> float | None:
            if not self._may_act and self._is_refused():
                return RETRY_SECONDS
            self._may_act = True
            return reconcile(*key)

        return held

    def _is_refused(self) -> bool:
        regions = self._kube.list(OSDPL, self._namespace)
        for osdpl in regions:
            self._found(osdpl)
        return any(refused_controller(osdpl, self._version) for osdpl in regions)
