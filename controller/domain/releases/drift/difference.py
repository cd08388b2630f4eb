"""What in the cluster differs from what a release has put there, reported by paths and never by values.

The comparison is between an object as it is and the same object after a server-side apply of the
release's manifest under Helm's own name, as a dry run. What such an apply leaves alone belongs to others
and is not drift: fields that the manifest does not set, defaults, status, labels and annotations of
other tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.domain.api.names import HELM_FIELD_MANAGER
from controller.domain.releases.bundle import DriftIgnore
from controller.domain.shared.times import is_ahead

Keys = tuple[str | int, ...]

# A status is for people and shares 1.5 MB with 500 releases.
OBJECTS_SHOWN, PATHS_SHOWN, PATH_LENGTH, MESSAGE_LENGTH = 16, 5, 256, 1024

# An object that had to be corrected so often within this many seconds has an adversary.
FIGHT_SECONDS, FIGHT_AFTER = 3600.0, 3

_SYSTEM = frozenset(
    (
        "managedFields",
        "resourceVersion",
        "generation",
        "uid",
        "creationTimestamp",
        "selfLink",
        "deletionTimestamp",
    )
)
# Certificates that others put into what a chart can only prepare (cert-manager's cainjector, OLM, the
# Kubernetes documentation on admission webhooks).
_INJECTED = (
    DriftIgnore(kind="ValidatingWebhookConfiguration", paths=("/webhooks/*/clientConfig/caBundle",)),
    DriftIgnore(kind="MutatingWebhookConfiguration", paths=("/webhooks/*/clientConfig/caBundle",)),
    DriftIgnore(kind="APIService", paths=("/spec/caBundle",)),
    DriftIgnore(kind="CustomResourceDefinition", paths=("/spec/conversion/webhook/clientConfig/caBundle",)),
)


class Change(StrEnum):
    """The state of an object. `REFUSED`: it differs, and the API server refuses the correction."""

    EDITED = "Edited"
    DELETED = "Deleted"
    REFUSED = "Refused"


@dataclass(frozen=True)
class ObjectId:
    """Which object of the cluster; `namespace` is empty for what belongs to none."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def place(self) -> str:
        """`namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True)
class Drifted:
    """One object that is not as its release made it.

    `paths` are JSON pointers into the object. `by` names the field managers that have taken over what
    was changed, as far as the object tells. `message` says why it cannot be corrected.
    """

    object: ObjectId
    change: Change
    paths: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    message: str = ""

    def __str__(self) -> str:
        if self.change == Change.DELETED:
            return f"{self.object} is missing"
        paths = ", ".join(self.paths[:PATHS_SHOWN])
        more = len(self.paths) - PATHS_SHOWN
        where = f" ({paths}{f' and {more} more' if more > 0 else ''})" if paths else ""
        by = f" by {', '.join(self.by)}" if self.by else ""
        if self.change == Change.REFUSED:
            return f"{self.object} cannot be corrected{where}: {self.message}"
        return f"{self.object} was changed{by}{where}"

    def is_like(self, other: Drifted | None) -> bool:
        """Whether the other one tells of the same difference."""
        return other is not None and (self.change, self.paths) == (other.change, other.paths)

    def entry(self) -> dict[str, Any]:
        """As it stands in `status.releases[].drift`."""
        entry = {
            "object": str(self.object),
            "change": str(self.change),
            "paths": [path[:PATH_LENGTH] for path in self.paths[:PATHS_SHOWN]],
            "by": ", ".join(self.by)[:PATH_LENGTH],
            "message": self.message[:MESSAGE_LENGTH],
        }
        return {key: value for key, value in entry.items() if value not in ("", [])}


@dataclass(frozen=True)
class Drift:
    """All that is known to differ of one release.

    `corrections`: how often within the last hour the worst of these objects was corrected already,
    `corrected` when that was last (seconds since the epoch), `rivals` who changed it back each time.
    `fresh`: some of them could be corrected as far as is known, and no correction was tried at them as
    they are. `error` says why nothing is known.
    """

    objects: tuple[Drifted, ...] = ()
    corrections: int = 0
    corrected: float = 0.0
    rivals: tuple[str, ...] = ()
    fresh: bool = False
    error: str = ""

    def entries(self) -> list[dict[str, Any]]:
        """As they stand in `status.releases[].drift`: the first few."""
        return [one.entry() for one in self.objects[:OBJECTS_SHOWN]]

    def __str__(self) -> str:
        shown = "; ".join(str(one) for one in self.objects[:3])
        more = len(self.objects) - 3
        return f"{shown}{f'; and {more} more' if more > 0 else ''}"


#: Nothing differs, or nothing was compared.
NO_DRIFT = Drift()


@dataclass
class Corrections:
    """When an object was corrected, and against whom; what is older than an hour is forgotten."""

    times: list[float] = field(default_factory=list)
    rivals: tuple[str, ...] = ()

    def add(self, now: float, by: Iterable[str]) -> None:
        self.times = [*self.recent(now), now][-50:]
        self.rivals = tuple(sorted({*by}))[:5] or self.rivals

    def recent(self, now: float) -> list[float]:
        return [time for time in self.times if now - time < FIGHT_SECONDS and not is_ahead(time, now)]


def fingerprint(metadata: Mapping[str, Any]) -> str:
    """Changes whenever an object changes in what an apply could set, and not with its status.

    A generation counts changes of all but metadata and status; kinds without one have no status that
    moves, so there the version of the object serves.
    """
    own = {key: metadata.get(key) for key in ("uid", "labels", "annotations", "deletionTimestamp")}
    version = metadata.get("generation")
    own["version"] = metadata.get("resourceVersion") if version is None else version
    return json.dumps(own, sort_keys=True)


def changed_keys(live: Mapping[str, Any], desired: Mapping[str, Any]) -> tuple[Keys, ...]:
    """Where `live` would change if it became `desired`; what the API server itself keeps is left out."""
    return tuple(
        keys
        for keys in _differences(live, desired, ())
        if keys[0] != "status" and not (keys[0] == "metadata" and len(keys) > 1 and keys[1] in _SYSTEM)
    )


def pointer(keys: Keys) -> str:
    """A path as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys)


def is_ignored(object_: ObjectId, keys: Keys, rules: Sequence[DriftIgnore]) -> bool:
    """Whether a rule, or a known exception, covers the path or a field above it."""
    path = pointer(keys)
    return any(
        rule.kind in ("", object_.kind)
        and rule.name in ("", object_.name)
        and any(_covers(desired, path) for desired in rule.paths)
        for rule in (*_INJECTED, *rules)
    )


def ignored_places(object_: ObjectId, live: Mapping[str, Any], rules: Sequence[DriftIgnore]) -> list[Keys]:
    """The places of an object as it is that rules cover."""
    patterns = [
        path.strip("/").split("/")
        for rule in rules
        if rule.kind in ("", object_.kind) and rule.name in ("", object_.name)
        for path in rule.paths
    ]
    return [keys for pattern in patterns for keys in _matching(live, pattern, ())]


def managers_of(live: Mapping[str, Any], keys: Keys) -> tuple[str, ...]:
    """Who has set the field at `keys` last, Helm aside; `kubectl (scale)` if through a subresource."""
    found = []
    for entry in live.get("metadata", {}).get("managedFields") or []:
        name, subresource = str(entry.get("manager")), entry.get("subresource")
        if name == HELM_FIELD_MANAGER and not subresource:
            continue
        if _owns(entry.get("fieldsV1") or {}, live, keys):
            found.append(f"{name} ({subresource})" if subresource else name)
    return tuple(found)


def is_autoscaled(live: Mapping[str, Any]) -> bool:
    """Whether a controller, not a person, has set the number of replicas.

    Autoscalers write through the subresource `scale`, and so does `kubectl scale`, by its own name.
    """
    setters = managers_of(live, ("spec", "replicas"))
    return any(one.endswith(" (scale)") and not one.startswith("kubectl") for one in setters)


def with_live(
    obj: Mapping[str, Any], live: Mapping[str, Any], places: Iterable[Keys]
) -> dict[str, Any] | None:
    """The manifest's object with the live values at these places, so that applying it leaves them alone.

    None when a place lies in a list whose items the manifest has otherwise. Neither is changed.
    """
    result: Any = dict(obj)
    for keys in places:
        result = _replaced(result, live, keys)
        if result is _LOST:
            return None
    return dict(result)


_MISSING: Any = object()
_LOST: Any = object()


def _differences(live: Any, desired: Any, at: Keys) -> Iterator[Keys]:
    if isinstance(live, Mapping) and isinstance(desired, Mapping):
        for key in sorted({*live, *desired}):
            yield from _differences(live.get(key, _MISSING), desired.get(key, _MISSING), (*at, key))
    elif isinstance(live, list) and isinstance(desired, list) and len(live) == len(desired):
        for index, (before, after) in enumerate(zip(live, desired, strict=True)):
            yield from _differences(before, after, (*at, index))
    elif live is _MISSING and isinstance(desired, Mapping) and desired:
        # Down to the fields, as rules name those.
        for key in sorted(desired):
            yield from _differences(_MISSING, desired[key], (*at, key))
    elif live is _MISSING or desired is _MISSING or live != desired:
        yield at


def _covers(rule: str, path: str) -> bool:
    desired, given = rule.rstrip("/").split("/"), path.split("/")
    return len(desired) <= len(given) and all(
        one in ("*", other) for one, other in zip(desired, given, strict=False)
    )


def _matching(value: Any, pattern: Sequence[str], at: Keys) -> Iterator[Keys]:
    if not pattern:
        yield at
        return
    children: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, Mapping):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for key, child in children:
        if pattern[0] in ("*", pointer((key,))[1:]):
            yield from _matching(child, pattern[1:], (*at, key))


def _owns(fields: Any, live: Any, keys: Keys) -> bool:
    """Whether a set of owned fields (managedFields, FieldsV1) holds the place or all around it."""
    for key in keys:
        if not isinstance(fields, Mapping):
            return False
        if not fields.keys() - {"."}:
            return True
        part = _child(live, key)
        if isinstance(key, int):
            fields = next((below for name, below in fields.items() if _is_item(name, part)), None)
        else:
            fields = fields.get(f"f:{key}")
        if fields is None:
            return False
        live = part
    return True


def _is_item(name: str, item: Any) -> bool:
    """Whether `k:{"name":"a"}` or `v:"a"` of FieldsV1 means this item of a list."""
    kind, _, text = name.partition(":")
    try:
        expected = json.loads(text) if kind in ("k", "v") else None
    except ValueError:
        return False
    if kind == "k" and isinstance(expected, Mapping) and isinstance(item, Mapping):
        return all(item.get(key) == value for key, value in expected.items())
    return kind == "v" and expected == item


def _child(value: Any, key: str | int) -> Any:
    if isinstance(key, int):
        return value[key] if isinstance(value, list) and key < len(value) else _MISSING
    return value.get(key, _MISSING) if isinstance(value, Mapping) else _MISSING


# What tells items of a list apart, in the lists of Kubernetes that are keyed (the API's x-kubernetes-
# list-map-keys), the telling one first.
_ITEM_KEYS = ("name", "key", "containerPort", "port", "mountPath", "devicePath", "type", "ip", "topologyKey")


def _replaced(value: Any, live: Any, keys: Keys) -> Any:
    """A copy of `value` in which the place at `keys` is as in `live`, absent if it is absent there."""
    if not keys:
        return live
    key, rest = keys[0], keys[1:]
    part = _child(live, key)
    if isinstance(key, int):
        place = _item_place(value, part) if isinstance(value, list) else -1
        if place < 0:
            return _LOST
        below = _replaced(value[place], part, rest)
        return _LOST if below is _LOST else [*value[:place], below, *value[place + 1 :]]
    if not isinstance(value, Mapping):
        return _LOST
    if part is _MISSING:
        return {name: kept for name, kept in value.items() if name != key}
    if key not in value:
        # What the manifest does not set is left alone anyway, unless it sets it in another form.
        return _LOST if key == "data" and "stringData" in value else value
    below = _replaced(value[key], part, rest)
    return _LOST if below is _LOST else {**value, key: below}


def _item_place(items: list[Any], desired: Any) -> int:
    for index, item in enumerate(items):
        if item == desired:
            return index
        if isinstance(item, Mapping) and isinstance(desired, Mapping):
            shared = next((key for key in _ITEM_KEYS if key in item and key in desired), None)
            if shared is not None and item[shared] == desired[shared]:
                return index
    return -1
