"""The region's OpenStack, opened with the credentials that the region has now."""

from __future__ import annotations

import base64
import binascii
import hashlib
import threading

from controller.domain.api.names import CLOUDS_CA_KEY, CLOUDS_KEY, CLOUDS_SECRET
from controller.domain.shared.cloud_facts import CloudView
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.kubernetes import SECRET, Kube
from controller.ports.openstack import Cloud, Clouds
from controller.ports.system import Clock

# In one pass nothing more is begun after so many seconds, and what was begun has a while to come to its end:
# one server is asked after and acted upon where the lists alone took the time, or no pass would get anywhere.
# Lists that are not complete when the grace is over are not known.
OBSERVE_WITHIN, OBSERVE_GRACE = 40.0, 20.0
# So many seconds more for the first step of a host, which is a read and a write: lists that just came in time
# are acted upon. So a pass takes 75 seconds and one request at most; 120 are too long for a container.
STEP_GRACE = 15.0


def read_clouds(kube: Kube, namespace: str) -> tuple[bytes, bytes]:
    """The region's clouds.yaml, and the certificates to trust, empty for what the file or the system says.

    Raises CloudUnavailable where there are none (yet), KubeError.
    """
    data = (kube.get(SECRET, CLOUDS_SECRET, namespace) or {}).get("data") or {}
    text = data.get(CLOUDS_KEY)
    if not text:
        raise CloudUnavailable(f'there is no Secret "{CLOUDS_SECRET}" with a {CLOUDS_KEY} yet')
    try:
        content = base64.b64decode(text, validate=True)
        authority = base64.b64decode(data.get(CLOUDS_CA_KEY) or "", validate=True)
    except (binascii.Error, ValueError):
        raise CloudUnavailable(f'the Secret "{CLOUDS_SECRET}" cannot be read') from None
    return content, authority


class CloudAccess:
    """Gives the cloud of one region's namespace. Safe from several threads."""

    def __init__(self, kube: Kube, clouds: Clouds, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clouds = clouds
        self._clock = clock
        self._namespace = namespace
        self._lock = threading.Lock()
        self._digest = ""
        self._cloud: Cloud | None = None
        self._view: CloudView | None = None

    def cloud(self) -> Cloud:
        """The cloud; opened again when its Secret has changed.

        Raises CloudUnavailable where there are no usable credentials (yet), KubeError.
        """
        content, authority = read_clouds(self._kube, self._namespace)
        digest = hashlib.sha256(content + b"\0" + authority).hexdigest()
        with self._lock:
            if self._cloud is None or digest != self._digest:
                try:
                    opened = self._clouds.open(content, authority)
                except CloudRefused as error:
                    raise CloudUnavailable(str(error)) from None
                if self._cloud is not None:
                    self._cloud.close()
                self._cloud, self._digest = opened, digest
            return self._cloud

    def for_one_pass(self) -> Cloud:
        """The cloud for one pass. Raises as `cloud` does."""
        return self.cloud().until(self._clock.monotonic() + OBSERVE_WITHIN, grace=OBSERVE_GRACE)

    def observe_hosts(self, cloud: Cloud) -> CloudView:
        """All hosts, again. Raises CloudUnavailable where any part of it is not known."""
        # It is as old as its first list: all take up to a minute, in which others change what was read.
        began = self._clock.monotonic()
        try:
            view = CloudView(
                services=cloud.compute_services(),
                hypervisors=cloud.hypervisors(),
                agents=cloud.network_agents(),
                volumes=cloud.volume_services(),
                aggregates=cloud.aggregates(),
                taken=began,
            )
        except CloudRefused as error:
            # An administrator may read all of these: a refusal is a cloud that is being set up or broken.
            raise CloudUnavailable(str(error)) from None
        with self._lock:
            if self._view is None or self._view.taken <= view.taken:
                self._view = view
        return view

    def last_view(self, *, younger_than: float, after: float) -> CloudView | None:
        """The last complete pass, if it began within so many seconds, and after that time of the clock."""
        with self._lock:
            view = self._view
        if view is None or view.taken <= after or self._clock.monotonic() - view.taken > younger_than:
            return None
        return view
