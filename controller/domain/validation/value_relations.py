"""Values that hold only together, each relation with its source: a broken one shows only later. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.shared.cron_schedule import shortest_gap
from controller.domain.values.chart_values import Path, lookup
from controller.domain.values.merge import MergedValues
from controller.errors import Problem

_DAY = 86400
# Keystone, `[token] expiration` and `allow_expired_window`, `[fernet_tokens] max_active_keys`: defaults.
_EXPIRATION, _WINDOW, _KEYS = 3600, 172800, 3


@dataclass(frozen=True)
class AtLeast:
    """In the values of a release one number is at least so many times another; both with the defaults of the
    packages. `source` says where that is from."""

    release: str
    path: Path
    default: float
    times: float
    other: Path
    other_default: float
    why: str
    source: str


_CONF = "conf"
RELATIONS = (
    AtLeast(
        *("nova", (_CONF, "nova", "DEFAULT", "service_down_time"), 60, 2),
        *((_CONF, "nova", "DEFAULT", "report_interval"), 10),
        "computes that are up count as down",
        "https://docs.openstack.org/nova/latest/configuration/config.html",
    ),
    AtLeast(
        *("cinder", (_CONF, "cinder", "DEFAULT", "service_down_time"), 60, 2),
        *((_CONF, "cinder", "DEFAULT", "report_interval"), 10),
        "volume services that are up count as down",
        "https://docs.openstack.org/cinder/latest/configuration/block-storage/config-options.html",
    ),
    AtLeast(
        *("neutron", (_CONF, "neutron", "DEFAULT", "agent_down_time"), 75, 2),
        *((_CONF, "neutron", "agent", "report_interval"), 30),
        "agents that are up count as down",
        "https://docs.openstack.org/neutron/latest/configuration/neutron.html",
    ),
)
# Servers of which more than half have to be there: https://mariadb.com/kb/en/galera-cluster/ (Quorum),
# https://www.rabbitmq.com/docs/quorum-queues (Replica management), ovsdb(7) (Clustered).
QUORUMS: tuple[tuple[str, str, str], ...] = (
    ("mariadb", "server", "databases"),
    ("rabbitmq", "server", "brokers"),
    ("ovn", "ovn_ovsdb_nb", "northbound databases"),
    ("ovn", "ovn_ovsdb_sb", "southbound databases"),
)


def broken_relations(releases: Mapping[str, MergedValues]) -> Iterator[Problem]:
    """A warning for each relation that the final values break, and of which the operator set a value."""
    for one in RELATIONS:
        if one.release in releases:
            yield from _too_small(one, releases[one.release])
    for release, name, servers in QUORUMS:
        if release in releases:
            yield from _even(releases[release], ("pod", "replicas", name), servers)
    if "keystone" in releases:
        yield from _fernet_keys(releases["keystone"])


def _too_small(one: AtLeast, merged: MergedValues) -> Iterator[Problem]:
    value = _number(lookup(merged.values, one.path), one.default)
    least = one.times * _number(lookup(merged.values, one.other), one.other_default)
    if value < least:
        message = f"{one.path[-1]} {value:g} is under {one.times:g} times {one.other[-1]}: {one.why}"
        yield from _told(merged, (one.path, one.other), message, f"set it to {least:g} or more")


def _even(merged: MergedValues, path: Path, servers: str) -> Iterator[Problem]:
    count = lookup(merged.values, path)
    if isinstance(count, int) and count > 0 and count % 2 == 0:
        message = f"{count} {servers} serve only while {count // 2 + 1} of them run, as {count + 1} would"
        yield from _told(merged, (path,), message, f"take {count - 1} or {count + 1}")


def _fernet_keys(merged: MergedValues) -> Iterator[Problem]:
    """Keystone's documentation, Fernet - Frequently Asked Questions: a token can be read while its key is."""
    conf: Path = (_CONF, "keystone")
    keys_at: Path = (*conf, "fernet_tokens", "max_active_keys")
    expiration_at, window_at = (*conf, "token", "expiration"), (*conf, "token", "allow_expired_window")
    cron_at: Path = ("jobs", "fernet_rotate", "cron")
    gap = shortest_gap(str(lookup(merged.values, cron_at) or "")) or _DAY
    life = _number(lookup(merged.values, expiration_at), _EXPIRATION)
    life += _number(lookup(merged.values, window_at), _WINDOW)
    keys, needed = _number(lookup(merged.values, keys_at), _KEYS), math.ceil(life / gap) + 2
    if keys < needed:
        message = (
            f"{keys:g} Fernet keys, rotated each {gap / 3600:g} h, end before tokens of {life / 3600:g} h"
        )
        remedy = f"set max_active_keys to {needed} or more, or rotate less often"
        yield from _told(merged, (keys_at, expiration_at, window_at, cron_at), message, remedy)


def _told(merged: MergedValues, paths: tuple[Path, ...], message: str, remedy: str) -> Iterator[Problem]:
    """At the first of the values that the operator set; what the chart has of its own is not told."""
    settings = (merged.history[path][-1] for path in paths if merged.history.get(path))
    own = next((one for one in settings if one.path.startswith("spec.")), None)
    if own is not None:
        yield Problem(own.path, message, remedy, own.place)


def _number(value: Any, default: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return default
