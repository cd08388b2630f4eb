"""The snapshot of a set in one pass, and the next write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.api.names import GROUP
from controller.domain.api.reasons import Reason
from controller.domain.machines.provider_spec import Cluster
from controller.errors import Problem

Raw = Mapping[str, Any]
FINALIZER = f"machines.{GROUP}/finalizer"
#: On templates, with the name of their set.
SET_LABEL = f"machines.{GROUP}/machine-set"
#: Keeps a MachineSet of Cluster API until its machines are gone; a paused one has none.
CLUSTER_API_FINALIZER = "cluster.x-k8s.io/machineset"


class Verb(StrEnum):
    """The verb for an object; each write applies only to the object as it was read."""

    CREATE = "create"
    REPLACE = "replace"
    STATUS = "status"
    DELETE = "delete"
    #: Its owned objects stay.
    DELETE_ALONE = "delete-alone"


class Part(StrEnum):
    """Which of the objects of a set."""

    SOURCE = "source"
    MIRROR = "mirror"
    TEMPLATE = "template"


@dataclass(frozen=True)
class EventMessage:
    """An Event on the source."""

    reason: Reason
    message: str


@dataclass(frozen=True)
class Write:
    """The next write. `obj` is the complete desired object, or the read object for a deletion."""

    verb: Verb
    part: Part
    obj: dict[str, Any]
    because: str
    events: tuple[EventMessage, ...] = ()


class TemplateOwner(StrEnum):
    """The owner of a template, with which it is deleted."""

    MACHINE_SET = "MachineSet"
    CLUSTER = "Cluster"


@dataclass(frozen=True)
class Target:
    """The target of mirrors, and their settings."""

    cluster: Cluster
    template_owner: TemplateOwner = TemplateOwner.MACHINE_SET


@dataclass(frozen=True)
class Snapshot:
    """The snapshot for one source.

    `templates` are those with the label of the set, and those with a name that it needs. `used_elsewhere` are
    the names of templates that other MachineSets of the namespace use. `cluster` is the Cluster.
    """

    source: Raw
    mirror: Raw | None
    templates: tuple[Raw, ...]
    used_elsewhere: frozenset[str] = frozenset()
    cluster: Raw | None = None

    def template(self, name: str) -> Raw | None:
        """The template of that name, or None."""
        return next((one for one in self.templates if one["metadata"]["name"] == name), None)


def is_deleting(obj: Raw) -> bool:
    return obj["metadata"].get("deletionTimestamp") is not None


def has_finalizer(obj: Raw, finalizer: str = FINALIZER) -> bool:
    return finalizer in (obj["metadata"].get("finalizers") or ())


def with_metadata(obj: Raw, **changes: Any) -> dict[str, Any]:
    """The object with these fields of its metadata; None removes one."""
    metadata = {**obj["metadata"], **changes}
    return {**obj, "metadata": {key: value for key, value in metadata.items() if value is not None}}


def with_finalizers(obj: Raw, *, add: str = "", remove: tuple[str, ...] = ()) -> dict[str, Any]:
    known = [one for one in obj["metadata"].get("finalizers") or () if one not in remove]
    if add and add not in known:
        known.append(add)
    return with_metadata(obj, finalizers=known or None)


def set_label(name: str) -> str:
    """The value of the label on templates: a name that is too long is shortened."""
    return name if len(name) <= 63 else name[:63].rstrip("-.")


def summed_up(problems: tuple[Problem, ...]) -> str:
    """The first few problems in one text."""
    listed = "; ".join(map(str, problems[:5]))
    more = len(problems) - 5
    return f"{listed}; and {more} more" if more > 0 else listed


def status_write(
    observed: Raw, copy: Raw, part: Part, converted: Callable[[Raw, Raw], dict[str, Any]]
) -> Write | None:
    """The copy's status of its machines, if the observed one describes the newest generation."""
    status = observed.get("status") or {}
    if status.get("observedGeneration") != observed["metadata"].get("generation"):
        return None
    after = converted(status, copy)
    if after == (copy.get("status") or {}):
        return None
    return Write(Verb.STATUS, part, {**copy, "status": after}, "the machines are in another state")
