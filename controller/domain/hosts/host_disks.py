"""Whether the disks of a host's servers are reached by the hosts that would take them over. Pure.

What the region's spec asks for does not tell: values of labelled nodes differ, a nova-compute that was not
restarted runs with what it began with, and a server keeps the disks that it was made with when its host is
configured otherwise. So each host is judged by what its own nova-compute was seen to be configured with,
remembered for the time when it is dead, and by whether all its servers were made under that.
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
# Of nova.conf (nova/conf/libvirt.py, nova/conf/compute.py, nova/conf/paths.py), where it says nothing.
_INSTANCES, _CEPH_CONF, _POOL = "$state_path/instances", "", "rbd"


def parse_backend(text: str) -> str:
    """Where a nova-compute with this nova.conf keeps the disks of servers; empty where that is not clear.

    `rbd:POOL:CEPH_CONF:CLUSTER`, `lvm:GROUP`, or the type of the files and their directory, as
    `qcow2:/var/lib/…`. CLUSTER is a digest of the id that libvirt has the cluster's key by.
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
    """One nova-compute that runs. `run` tells it from the one before on the host.

    `fresh`: its pod was made after its configuration was last written, so that it began with that. Both
    times are the API server's.
    """

    backend: str
    run: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class HostDisks:
    """What is remembered of one host. `since`: when it was first seen with this `backend`, seconds.

    `old`: its nova-compute may still run with what was configured before. `sure`: all its servers were
    made with this backend: it was seen without any, with a nova-compute that runs with it, and has kept it.
    `was`: the backend before, empty for none. `away`: its nova-compute is not there, and one that runs with
    something else may take its place any moment.
    """

    backend: str
    since: float
    run: str = ""
    old: bool = False
    sure: bool = False
    was: str = ""
    away: bool = False

    def written(self) -> str:
        """As it stands in the ConfigMap."""
        plain = {"backend": self.backend, "since": timestamp(self.since), "run": self.run, "was": self.was}
        return json.dumps({**plain, "old": self.old, "sure": self.sure, "away": self.away}, sort_keys=True)


def read_disks(text: str) -> HostDisks | None:
    """What was written; None for what cannot be read."""
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
    """What is to be remembered once a host was seen so, with so many servers (None: not known).

    The servers were counted after the nova-compute was seen, and its configuration was read after that.
    """
    empty = servers == 0
    if before is None:
        return HostDisks(seen.backend, now, seen.run, old=not seen.fresh, sure=empty and seen.fresh)
    if before.backend != seen.backend:
        # Servers that are there keep the disks that they have, whatever is restarted.
        old = before.run == seen.run or not seen.fresh
        return HostDisks(
            seen.backend, now, seen.run, old=old, sure=empty and not old, was=before.backend or "not clear"
        )
    # Another run of the same pod may have begun with what was mounted before.
    old = before.old and (before.run == seen.run or not seen.fresh)
    sure = before.sure or (empty and not old)
    return HostDisks(
        before.backend, before.since, seen.run, old=old, sure=sure, was="" if sure else before.was
    )


@dataclass(frozen=True, slots=True)
class DiskReachability:
    """`shared`: the hosts that would take its servers reach their disks. `doubt`: why that is not certain.

    `token`: what a person confirms who knows that they do; another one once anything of it has changed.
    """

    shared: bool
    doubt: str = ""
    token: str = ""


def judge_disks(
    host: str, records: Mapping[str, HostDisks], others: frozenset[str], confirmed: str = ""
) -> DiskReachability:
    """The verdict on a host. `others`: those that may take its servers; `confirmed`: a person's token.

    Nova asks the host that takes a server over whether the disks are shared, by its own configuration
    (nova/virt/libvirt/driver.py, instance_on_disk), and makes them again where that says no.
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
        return f"it is not known where {host} keeps disks"
    if not record.backend.startswith(_RBD):
        return f"{host} keeps disks in {record.backend}"
    if record.old:
        return f"the nova-compute of {host} was not seen to start with {record.backend}"
    if not record.sure and record.was:
        since = timestamp(record.since)
        return f"{host} has been configured for {record.backend} since {since}, for {record.was} before"
    if not record.sure:
        return f"{host} had servers already when it was first seen with {record.backend}"
    for one in sorted(others):
        other = records.get(one)
        certain = other is not None and not (other.old or other.away)
        if other is None or not certain or other.backend != record.backend:
            known = other.backend if other is not None and certain else ""
            where = f"keeps disks in {known}" if known else "it is not known where that keeps disks"
            return f"{one} may take its servers, and {where}"
    return ""


def _token(host: str, record: HostDisks | None, places: list[str]) -> str:
    """Of a configuration that came again the token is another: `since` is."""
    known = [record.backend, timestamp(record.since)] if record is not None else []
    return hashlib.sha256(json.dumps([host, known, places]).encode()).hexdigest()[:12]
