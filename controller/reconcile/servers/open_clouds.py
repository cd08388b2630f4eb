"""The clouds that OpenStackServers name, opened with the credentials that their Secrets have now."""

from __future__ import annotations

import base64
import binascii
import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass

from controller.domain.api.names import CLOUDS_CA_KEY, CLOUDS_KEY, CLOUDS_SECRET
from controller.domain.api.reasons import Reason
from controller.domain.servers.server_conditions import Finding
from controller.domain.servers.server_spec import Identity
from controller.errors import CloudMissing, CloudRefused, ControllerError
from controller.ports.kubernetes import SECRET, Kube
from controller.ports.servers import ServerCloud, ServerClouds
from controller.reconcile.servers.work import ServerWork

# The key that Cluster API Provider OpenStack has beside clouds.yaml, and ours.
AUTHORITY_KEYS = ("cacert", CLOUDS_CA_KEY)
# Clouds kept open at a time. Each has a connection for every thread that asks.
MOST_OPEN = 64

_Place = tuple[str, Identity]


class NoAccess(ControllerError):
    """There are no credentials that can be used. `finding` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True)
class _Opened:
    digest: str
    cloud: ServerCloud


class OpenClouds:
    """Opens each cloud once for all servers that name it. Safe from several threads."""

    def __init__(self, kube: Kube, clouds: ServerClouds, region_namespace: str) -> None:
        self._kube = kube
        self._clouds = clouds
        self._region_namespace = region_namespace
        self._lock = threading.Lock()
        self._opened: OrderedDict[_Place, _Opened] = OrderedDict()

    def of(self, work: ServerWork) -> ServerCloud:
        """The cloud of a server. Raises NoAccess, KubeError.

        While a server is being deleted it is the last one that could be opened where its Secret is gone: a
        namespace that is deleted takes the Secret with it.
        """
        identity = self._identity(work)
        place = (work.namespace, identity)
        try:
            content, authority = self._read(work.namespace, identity.secret)
        except NoAccess:
            with self._lock:
                last = self._opened.get(place)
            if work.deleting and last is not None:
                return last.cloud
            raise
        digest = hashlib.sha256(content + b"\0" + authority).hexdigest()
        with self._lock:
            known = self._opened.get(place)
            if known is not None and known.digest == digest:
                self._opened.move_to_end(place)
                return known.cloud
            opened = self._open(identity, content, authority, own=self._is_own(work, identity))
            self._opened[place] = _Opened(digest, opened)
            self._opened.move_to_end(place)
            gone = [known] if known is not None else []
            while len(self._opened) > MOST_OPEN:
                gone.append(self._opened.popitem(last=False)[1])
        for one in gone:
            one.cloud.close()
        return opened

    def _identity(self, work: ServerWork) -> Identity:
        given = work.spec.identity
        if given.secret:
            return given
        if work.namespace == self._region_namespace:
            return Identity(CLOUDS_SECRET, given.cloud, given.region)
        text = "spec.identityRef is required outside the region's own namespace"
        raise NoAccess(Finding("False", Reason.CREDENTIALS_MISSING, text))

    def _is_own(self, work: ServerWork, identity: Identity) -> bool:
        return work.namespace == self._region_namespace and identity.secret == CLOUDS_SECRET

    def _read(self, namespace: str, name: str) -> tuple[bytes, bytes]:
        data = (self._kube.get(SECRET, name, namespace) or {}).get("data") or {}
        text = data.get(CLOUDS_KEY)
        if not text:
            missing = f'there is no Secret "{name}" with a {CLOUDS_KEY}'
            raise NoAccess(Finding("False", Reason.CREDENTIALS_MISSING, missing))
        authority = next((data[key] for key in AUTHORITY_KEYS if data.get(key)), "")
        try:
            return base64.b64decode(text, validate=True), base64.b64decode(authority, validate=True)
        except (binascii.Error, ValueError):
            unread = f'the Secret "{name}" cannot be read'
            raise NoAccess(Finding("False", Reason.CREDENTIALS_UNUSABLE, unread)) from None

    def _open(self, identity: Identity, content: bytes, authority: bytes, *, own: bool) -> ServerCloud:
        try:
            return self._clouds.open(
                content, authority, cloud=identity.cloud, region=identity.region, own=own
            )
        except CloudMissing as error:
            raise NoAccess(Finding("False", Reason.CLOUD_NOT_FOUND, str(error))) from None
        except CloudRefused as error:
            raise NoAccess(Finding("False", Reason.CREDENTIALS_UNUSABLE, str(error))) from None
