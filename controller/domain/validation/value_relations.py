"""Values that hold only together (values/relations.yaml): a broken relation shows only later. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import options, values
from controller.domain.api.spec_rules.rule import Finding
from controller.domain.shared.cron_schedule import shortest_gap
from controller.domain.values.chart_values import DocumentPath, Path, lookup
from controller.domain.values.merge import MergedValues
from controller.domain.values.rules.relations import (
    AtLeast,
    Connections,
    KeysOutlive,
    Listed,
    Number,
    Odd,
    Pool,
    Relations,
    SwitchedOff,
)
from controller.domain.values.value_provenance import Setting
from controller.errors import Problem

_DAY = 86400
Releases = Mapping[str, MergedValues]


def broken_relations(releases: Releases, relations: Relations) -> Iterator[Problem]:
    """A warning for each relation that the final values break, and of which the operator set a value."""
    for least in relations.at_least:
        if least.release in releases:
            yield from _too_small(least, releases[least.release])
    for servers in relations.odd:
        if servers.release in releases:
            yield from _even(servers, releases[servers.release])
    for keys in relations.keys_outlive:
        if keys.release in releases:
            yield from _too_few_keys(keys, releases[keys.release])
    for one in relations.listed:
        if one.release in releases:
            yield from _unlisted(one, releases[one.release])
    for job in relations.switched_off:
        yield from _missed(job, releases)
    for pools in relations.connections:
        if pools.server in releases:
            yield from _too_many_connections(pools, releases)


def _too_small(one: AtLeast, merged: MergedValues) -> Iterator[Problem]:
    value, other = _value(merged, one.value), _value(merged, one.of)
    if value is None or other is None or value >= (least := one.times * other + one.plus):
        return
    times = f" {one.times:g} times" if one.times != 1 else ""
    facts = {
        "name": one.value.path[-1],
        "value": f"{value:g}",
        "relation": "not above" if one.plus else f"less than{times}",
        "other": f"{one.of.path[-1]}{f' {other:g}' if one.plus else ''}",
        "why": one.why,
        "least": f"{least:g}",
    }
    yield from _told(merged, (one.value.path, one.of.path), Finding(values.VALUE_TOO_SMALL, facts))


def _even(one: Odd, merged: MergedValues) -> Iterator[Problem]:
    count = lookup(merged.values, one.path)
    if isinstance(count, int) and count > 0 and count % 2 == 0:
        facts = {
            "count": count,
            "servers": one.what,
            "majority": count // 2 + 1,
            "fewer": count - 1,
            "more": count + 1,
        }
        yield from _told(merged, (one.path,), Finding(values.EVEN_NUMBER_OF_SERVERS, facts))


def _too_few_keys(one: KeysOutlive, merged: MergedValues) -> Iterator[Problem]:
    gap = shortest_gap(str(lookup(merged.values, one.schedule) or "")) or _DAY
    life = sum(_value(merged, part) or 0 for part in one.life)
    keys, needed = _value(merged, one.keys) or 0, math.ceil(life / gap) + 2
    if keys < needed:
        facts = {
            "keys": f"{keys:g}",
            "what": one.what,
            "gap": f"{gap / 3600:g}",
            "life": f"{life / 3600:g}",
            "name": one.keys.path[-1],
            "needed": needed,
        }
        paths = (one.keys.path, *(part.path for part in one.life), one.schedule)
        yield from _told(merged, paths, Finding(values.KEYS_EXPIRE_BEFORE_TOKENS, facts))


def _unlisted(one: Listed, merged: MergedValues) -> Iterator[Problem]:
    """A warning at the list, or at the first of the options that need its item."""
    given = lookup(merged.values, one.list)
    items = one.default if given is None else given.split(",") if isinstance(given, str) else given
    if not isinstance(items, list | tuple) or one.item in (str(item).strip() for item in items):
        return
    found = next(_options(merged.values.get("conf"), ("conf",), one), None)
    settings = [merged.history.setting_of(path) for path in (one.list, found) if found and path]
    written = [each for each in settings if each is not None]
    if found is None or not written:
        return
    # A template writes the options of a store as its field of spec.features says.
    own = next((each for each in written if each.path.startswith("spec.")), None)
    whole = ",".join((*map(str, items), one.item))
    in_list = own is not None and own.written == one.list
    facts = {
        "option": f"{found[-2]}.{found[-1]}",
        "item": one.item,
        "list": one.list[-1],
        "why": one.why,
        "remedy": f"add {one.item}" if in_list else f"set {'.'.join(one.list)} of {one.release}: {whole}",
    }
    finding = Finding(options.OPTION_WITHOUT_ITEM, facts)
    yield finding.at("spec.features") if own is None else finding.at(own.path, own.place)


def _missed(one: SwitchedOff, releases: Releases) -> Iterator[Problem]:
    """A problem for each value that switches the Job off, which may be that of many releases."""
    jobs: dict[tuple[str, str], list[str]] = {}
    for name, merged in releases.items():
        off = lookup(merged.values, one.path) is False
        if off and not (one.unless and lookup(merged.values, one.unless)):
            own = _own(merged, (one.path,))
            job = f"{name}-{one.path[-1].removeprefix('job_').replace('_', '-')}"
            if own is not None:
                jobs.setdefault((own.path, own.place), []).append(job)
    for (path, place), names in jobs.items():
        word = "Job" if len(names) == 1 else "Jobs"
        facts = {"jobs": f"{word} {', '.join(names)}", "why": one.why}
        yield Finding(values.JOB_SWITCHED_OFF, facts).at(path, place)


def _options(values: Any, path: DocumentPath, one: Listed) -> Iterator[DocumentPath]:
    """Where any of the options stands in a file for all nodes, or for some."""
    parts = enumerate(values) if isinstance(values, list) else ()
    for key, value in values.items() if isinstance(values, Mapping) else parts:
        section = str(path[-1])
        if value and any(name == key and place in (section, "*") for place, name in one.options):
            yield (*path, key)
        else:
            yield from _options(value, (*path, key), one)


def _too_many_connections(one: Connections, releases: Releases) -> Iterator[Problem]:
    """A problem at the first value of the operator that counts, for the release with most connections
    first."""
    server = releases[one.server]
    name, limit = one.limit, math.inf
    for path in one.texts:
        set_to = re.findall(rf"(?m)^\s*{name}\s*=\s*(\d+)", str(lookup(server.values, path) or ""))
        limit = float(set_to[-1]) if set_to else limit
    kept = {
        pool.release: _connections(pool, one, releases[pool.release])
        for pool in one.pools
        if pool.release in releases
    }
    whole = sum(kept.values())
    if whole <= limit:
        return
    number = "without a limit" if math.isinf(whole) else f"up to {whole:,.0f}"
    facts = {
        "number": number,
        "server": one.what,
        "limit": f"{limit:,.0f}",
        "option": one.size[0],
        "name": name,
    }
    largest = sorted(one.pools, key=lambda pool: -kept.get(pool.release, 0))
    asked = [(releases[pool.release], _paths(pool, one)) for pool in largest if pool.release in releases]
    for merged, paths in (*asked, (server, one.texts)):
        if told := list(_told(merged, paths, Finding(values.TOO_MANY_CONNECTIONS, facts))):
            yield told[0]
            return


def _connections(pool: Pool, one: Connections, merged: MergedValues) -> float:
    """How many the release keeps, with the further ones for which it asks by name."""
    processes = 0.0
    for pods, each in pool.processes.items():
        numbers = (_value(merged, Number(path, None)) for path in each)
        processes += (_value(merged, Number(pods, None)) or 0) * next(filter(None, numbers), 1)
    option, default = one.size
    total = 0.0
    for section in pool.sections:
        size = _value(merged, Number((*section, option), default))
        further = _value(merged, Number((*section, one.overflow), 0))
        # 0 connections, and -1 further ones, are no limit (SQLAlchemy's QueuePool).
        total += (size or math.inf) + (math.inf if further == -1 else further or 0)
    return processes * total if processes else 0


def _paths(pool: Pool, one: Connections) -> tuple[Path, ...]:
    options = [(*section, name) for section in pool.sections for name in (one.size[0], one.overflow)]
    return (*options, *(path for each in pool.processes.values() for path in each), *pool.processes)


def _told(merged: MergedValues, paths: tuple[Path, ...], finding: Finding) -> Iterator[Problem]:
    """A problem at the first value that the operator set, and none for the chart's own values."""
    own = _own(merged, paths)
    if own is not None:
        yield finding.at(own.path, own.place)


def _own(merged: MergedValues, paths: tuple[Path, ...]) -> Setting | None:
    """The first of the values that the operator set."""
    settings = (chain[-1] for path in paths if (chain := merged.history.chain(path)))
    return next((one for one in settings if one.path.startswith("spec.")), None)


def _value(merged: MergedValues, number: Number) -> float | None:
    value: Any = lookup(merged.values, number.path)
    try:
        return float(value)
    except (TypeError, ValueError):
        return number.default
