"""Relations of values that hold only together, as values/relations.yaml has them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.values.chart_values import Path


@dataclass(frozen=True)
class Number:
    """A number in the values of a release, with what it is where nothing sets it; None: nothing then."""

    path: Path
    default: float | None


@dataclass(frozen=True)
class AtLeast:
    """In a release one number is at least so many times another, and `plus` more; else `why` happens."""

    release: str
    value: Number
    times: float
    of: Number
    plus: float
    why: str


@dataclass(frozen=True)
class Odd:
    """Servers of a release of which more than half have to be there; `what` they are."""

    release: str
    path: Path
    what: str


@dataclass(frozen=True)
class KeysOutlive:
    """Keys that a schedule rotates stay for as long as what they sign; `life` in seconds, added up."""

    release: str
    keys: Number
    life: tuple[Number, ...]
    schedule: Path
    what: str


@dataclass(frozen=True)
class Pool:
    """Connections of a release: the sections with their number, and by the number of pods those of processes
    in each, of which the first one that is set counts."""

    release: str
    sections: tuple[Path, ...]
    processes: Mapping[Path, tuple[Path, ...]]


@dataclass(frozen=True)
class Connections:
    """The pools of all releases keep no more connections than a server takes.

    `texts` are files of the server that set its `limit`, of which the last counts. `size` is the option of
    the connections that a process keeps, `overflow` that of further ones."""

    server: str
    what: str
    texts: tuple[Path, ...]
    limit: str
    size: tuple[str, float]
    overflow: str
    pools: tuple[Pool, ...]


@dataclass(frozen=True)
class Listed:
    """Options, by section (`*` for any) and name, that need an item of a list; else `why` happens."""

    release: str
    list: Path
    default: tuple[str, ...]
    item: str
    options: tuple[tuple[str, str], ...]
    why: str


@dataclass(frozen=True)
class SwitchedOff:
    """A switch of a Job whose work nothing else does, except what `unless` switches on; `why` it matters."""

    path: Path
    unless: Path | None
    why: str


@dataclass(frozen=True)
class Relations:
    """All that are known."""

    at_least: tuple[AtLeast, ...] = ()
    odd: tuple[Odd, ...] = ()
    keys_outlive: tuple[KeysOutlive, ...] = ()
    connections: tuple[Connections, ...] = ()
    listed: tuple[Listed, ...] = ()
    switched_off: tuple[SwitchedOff, ...] = ()


NO_RELATIONS = Relations()


def parse_relations(document: Mapping[str, Any]) -> Relations:
    """Of a document that matches values/relations.schema.yaml."""
    return Relations(
        tuple(found for one in document["atLeast"] for found in _at_least(one)),
        tuple(Odd(one["release"], _path(one["value"]), one["what"]) for one in document["odd"]),
        tuple(
            KeysOutlive(
                one["release"],
                _number(one["keys"]),
                tuple(map(_number, one["life"])),
                _path(one["schedule"]),
                one["what"],
            )
            for one in document["keysOutlive"]
        ),
        tuple(map(_connections, document["connections"])),
        tuple(map(_listed, document["listed"])),
        tuple(
            SwitchedOff(_path(one["switch"]), _path(one["unless"]) if "unless" in one else None, one["why"])
            for one in document["switchedOff"]
        ),
    )


def _at_least(one: Mapping[str, Any]) -> list[AtLeast]:
    of = Number(_path(one["of"]), one.get("ofDefault"))
    rest = (one.get("times", 1), of, one.get("plus", 0), one["why"])
    paths = [one["value"].replace("{part}", part) for part in one.get("parts", ("",))]
    return [AtLeast(one["release"], Number(_path(path), one.get("default")), *rest) for path in paths]


def _connections(one: Mapping[str, Any]) -> Connections:
    pools = tuple(
        Pool(
            release,
            tuple(map(_path, pool["sections"])),
            {_path(pods): tuple(map(_path, each)) for pods, each in pool["processes"].items()},
        )
        for release, pool in one["pools"].items()
    )
    size = one["size"]
    return Connections(
        one["server"],
        one["what"],
        tuple(map(_path, one["texts"])),
        one["limit"],
        (size["name"], size["default"]),
        one["overflow"],
        pools,
    )


def _listed(one: Mapping[str, Any]) -> Listed:
    options = tuple((section, name) for section, _, name in (text.partition(".") for text in one["options"]))
    items = tuple(one.get("default", ()))
    return Listed(one["release"], _path(one["list"]), items, one["item"], options, one["why"])


def _number(given: Mapping[str, Any]) -> Number:
    return Number(_path(given["path"]), given["default"])


def _path(text: str) -> Path:
    """No key of these paths has a dot."""
    return tuple(text.split("."))
