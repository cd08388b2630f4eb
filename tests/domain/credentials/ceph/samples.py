"""A Ceph cluster as Rook and as an operator of cephadm would offer it. The keys open nothing."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping

from controller.domain.region.required_credentials import region_ceph, region_services
from controller.domain.values.ceph_needs import CephNeeds
from tests.render.region import core_spec, deployment, library

FSID = "8b1a2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
USERS = ("cinder", "cinderbackup", "glance", "gnocchi", "manila")


def key_of(user: str, generation: int = 1) -> str:
    """A key in Ceph's encoding: type AES, a time, 16 octets."""
    secret = f"{user}-{generation}".encode().ljust(16, b"\0")[:16]
    return base64.b64encode(struct.pack("<HIIH", 1, 1_700_000_000, generation, 16) + secret).decode()


KEYS: Mapping[str, str] = {user: key_of(user) for user in USERS}
ADMIN_KEY = key_of("admin")

# As Rook 1.18 writes them.
ROOK_CLUSTER: Mapping[str, str] = {
    "ceph-secret": ADMIN_KEY,
    "ceph-username": "client.admin",
    "fsid": FSID,
    "mon-secret": key_of("mon."),
}
ROOK_MONITORS: Mapping[str, str] = {
    "csi-cluster-config-json": '[{"clusterID":"rook-ceph","monitors":["10.96.1.1:6789"],"namespace":""}]',
    "data": "b=10.96.1.2:6789,a=10.96.1.1:6789,c=10.96.1.3:3300",
    "externalMons": "",
    "mapping": '{"node":{"a":{"Name":"n1","Hostname":"n1","Address":"192.0.2.1"}}}',
    "maxMonId": "2",
    "outOfQuorum": "b",
}


def rook_client(user: str, generation: int = 1) -> Mapping[str, str]:
    """The Secret that Rook makes for a CephClient, decoded."""
    key = key_of(user, generation)
    return {user: key, "userID": user, "userKey": key}


ROOK_CLIENTS: Mapping[str, Mapping[str, str]] = {user: rook_client(user) for user in USERS}

DOCUMENT = f"""\
fsid: {FSID}
monitors:
  - {{v2: "192.0.2.2:3300", v1: "192.0.2.2:6789"}}
  - {{v2: "192.0.2.1:3300"}}
clients:
  glance:
    key: {KEYS["glance"]}
    caps: {{mon: profile rbd, osd: profile rbd pool=images, mgr: profile rbd}}
  cinder: {{key: {KEYS["cinder"]}}}
  cinderbackup: {{key: {KEYS["cinderbackup"]}}}
  gnocchi: {{key: {KEYS["gnocchi"]}}}
  manila: {{key: {KEYS["manila"]}}}
pools:
  images: {{role: images}}
  volumes: {{role: volumes, volumeType: fast}}
  vms: {{role: vms}}
  backups: {{role: backup}}
  gnocchi.metrics: {{role: metrics}}
rgw: {{url: "https://rgw.example.org"}}
"""

STORE = {"name": "fast", "type": "ceph"}
EVERYWHERE = {
    "services": {"enabled": ["metering", "shared-file-system", "object-storage"]},
    "image": {"backends": [{"name": "rbd", "type": "ceph"}]},
    "compute": {"images": {"backend": "ceph"}},
    "blockStorage": {"backends": [STORE], "backup": {"enabled": True, "driver": "ceph"}},
}


def needs_of(ceph: Mapping[str, object] | None = None, **features: object) -> CephNeeds | None:
    """What a region with these features needs, an upstream one of preset compute."""
    given = {**features, **({"ceph": dict(ceph)} if ceph else {})}
    spec = deployment(core_spec(preset="compute", features=given)).spec
    return region_ceph(spec, region_services(spec, library()), library())


def everything(**ceph: object) -> CephNeeds:
    """The needs of a region that uses Ceph wherever it can."""
    more = {"shares": {"filesystem": "shared"}, "objectStorage": {"url": "https://rgw.example.org"}}
    needs = needs_of({"source": "Rook", "namespace": "rook-ceph", **more, **ceph}, **EVERYWHERE)
    assert needs is not None
    return needs
