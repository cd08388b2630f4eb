"""Whether the hosts that would take over servers of a host can reach their disks.

Pure. The region's spec is not enough: values of labelled nodes differ, a running nova-compute keeps its
configuration from its start, and a server keeps its disks when its host is configured differently. So the
verdict on each host uses the observed configuration of its own nova-compute, which is remembered for the time
after its failure, and whether all its servers were created with it.
"""

from __future__ import annotations

import configparser
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.shared.times import seconds_of

_RBD = "rbd:"
# Defaults of nova.conf (nova/conf/libvirt.py, nova/conf/compute.py, nova/conf/paths.py).
_INSTANCES, _CEPH_CONF, _POOL = "$state_path/instances", "", "rbd"


def parse_backend(text: str) -> str:
    """The disk storage of a nova-compute with this nova.conf; empty if it is not clear.

    `rbd:POOL:CEPH_CONF:CLUSTER`, `lvm:GROUP`, or the type of the files and their directory, as
    `qcow2:/var/lib/…`. CLUSTER is a digest of libvirt's id of the cluster's key.
    """
    parser = configparser.ConfigParser(
        strict=False, interpolation=None, allow_no_value=True, default_section="none of nova's"
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error:
        return ""

    def reported(section: str, name: str, otherwise: str) -> str:
        return (parser.get(section, name, fallback=None) or otherwise).strip()

    if not reported("DEFAULT", "compute_driver", "libvirt.").startswith("libvirt."):
        return ""
    type_ = reported("libvirt", "images_type", "default").lower()
    if type_ == "rbd":
        pool = reported("libvirt", "images_rbd_pool", _POOL)
        key = reported("libvirt", "rbd_secret_uuid", "")
        cluster = hashlib.sha256(key.encode()).hexdigest()[:8] if key else ""
        return f"{_RBD}{pool}:{reported('libvirt', 'images_rbd_ceph_conf', _CEPH_CONF)}:{cluster}"
    if type_ == "lvm":
        return f"lvm:{reported('libvirt', 'images_volume_group', '')}"
    return f"{type_}:{reported('DEFAULT', 'instances_path', _INSTANCES)}"


@dataclass(frozen=True, slots=True)
class SeenDisks:
    """One running nova-compute.

    `run` distinguishes it from earlier ones on the host. `fresh`: its pod was created after the last write of
    its configuration, so it started with that. Both times are the API server's.
    """

    backend: str
    run: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class HostDisks:
    """The record of one host.

    `since`: its first observation with this `backend`, in seconds. `old`: its nova-compute may still run with
    the former configuration. `sure`: all its servers were created with this backend: it was observed without
    any, with a nova-compute that runs with it, and has kept it. `was`: the former backend, or empty. `away`:
    its nova-compute is gone, and another one with another backend may start at any time.
    """

    backend: str
    since: float
    run: str = ""
    old: bool = False
    sure: bool = False
    was: str = ""
    away: bool = False

    def written(self) -> str:
        """Its text in the ConfigMap."""
        plain = {"backend": self.backend, "since": timestamp(self.since), "run": self.run, "was": self.was}
        return json.dumps({**plain, "old": self.old, "sure": self.sure, "away": self.away}, sort_keys=True)


def read_disks(text: str) -> HostDisks | None:
    """The parsed text, or None."""
    try:
        given: Any = json.loads(text)
        return HostDisks(
            backend=str(given["backend"]),
            since=seconds_of(given["since"]),
            run=str(given["run"]),
            old=given["old"] is not False,
            sure=given["sure"] is True,
            was=str(given["was"]),
            away=given["away"] is not False,
        )
    except (ValueError, KeyError, TypeError):
        return None


def observe_disks(before: HostDisks | None, seen: SeenDisks, servers: int | None, now: float) -> HostDisks:
    """The record after an observation of a host, with its number of servers (None: not known).

    The servers were counted after the observation of the nova-compute, and its configuration was read after
    that.
    """
    empty = servers == 0
    if before is None:
        return HostDisks(seen.backend, now, seen.run, old=not seen.fresh, sure=empty and seen.fresh)
    if before.backend != seen.backend:
        # Existing servers keep their disks, whatever restarts.
        old = before.run == seen.run or not seen.fresh
        return HostDisks(
            seen.backend, now, seen.run, old=old, sure=empty and not old, was=before.backend or "not clear"
        )
    # Another run of the same pod may have started with the former mount.
    old = before.old and (before.run == seen.run or not seen.fresh)
    sure = before.sure or (empty and not old)
    return HostDisks(
        before.backend, before.since, seen.run, old=old, sure=sure, was="" if sure else before.was
    )


@dataclass(frozen=True, slots=True)
class DiskReachability:
    """`shared`: the hosts that would take over its servers can reach their disks.

    `doubt`: why that is not certain. `token`: for the confirmation by a person; it differs after any change.
    """

    shared: bool
    doubt: str = ""
    token: str = ""


def judge_disks(
    host: str, records: Mapping[str, HostDisks], others: frozenset[str], confirmed: str = ""
) -> DiskReachability:
    """The verdict on a host.

    `others`: those that may take over its servers; `confirmed`: a person's token. Nova's new host checks
    whether the disks are shared, by its own configuration (nova/virt/libvirt/driver.py, instance_on_disk),
    and creates them again if not.
    """
    record = records.get(host)
    places = sorted({records[one].backend if one in records else "" for one in others})
    token = _token(host, record, places)
    if confirmed == token:
        return DiskReachability(True, token=token)
    doubt = _doubt(host, record, records, others)
    return DiskReachability(not doubt, doubt, token)


def _doubt(
    host: str, record: HostDisks | None, records: Mapping[str, HostDisks], others: frozenset[str]
) -> str:
    if record is None or not record.backend:
        return f"the controller does not know where {host} keeps disks"
    if not record.backend.startswith(_RBD):
        return f"{host} keeps disks in {record.backend}"
    if record.old:
        return f"the controller did not observe that nova-compute of {host} started with {record.backend}"
    if not record.sure and record.was:
        since = timestamp(record.since)
        return f"{host} has been configured for {record.backend} since {since}, and for {record.was} before"
    if not record.sure:
        return f"{host} already had servers when it was first observed with {record.backend}"
    for one in sorted(others):
        other = records.get(one)
        certain = other is not None and not (other.old or other.away)
        if other is None or not certain or other.backend != record.backend:
            known = other.backend if other is not None and certain else ""
            where = f"keeps disks in {known}" if known else "the disk storage of the host is not known"
            return f"{one} may take its servers, and {where}"
    return ""


def _token(host: str, record: HostDisks | None, places: list[str]) -> str:
    """A configuration that returns has another token, because `since` differs."""
    known = [record.backend, timestamp(record.since)] if record is not None else []
    return hashlib.sha256(json.dumps([host, known, places]).encode()).hexdigest()[:12]
