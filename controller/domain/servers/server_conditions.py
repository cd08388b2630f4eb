"""The conditions of an OpenStackServer: all of them are there from the first visit on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.domain.api.conditions import Condition, Status
from controller.domain.api.reasons import Reason
from controller.domain.servers.cloud_resources import CloudResource, Kind


class Aspect(StrEnum):
    """The conditions beside Ready, Paused and Deleting, in the order in which they come true."""

    AUTHENTICATION = "OpenStackAuthenticationSucceeded"
    DEPENDENCIES = "DependenciesResolved"
    PORTS = "PortsReady"
    VOLUMES = "VolumesReady"
    INSTANCE = "InstanceReady"
    FLOATING_IP = "FloatingIPReady"


ASPECT_OF: Mapping[Kind, Aspect] = {
    Kind.PORT: Aspect.PORTS,
    Kind.TRUNK: Aspect.PORTS,
    Kind.VOLUME: Aspect.VOLUMES,
    Kind.SERVER: Aspect.INSTANCE,
    Kind.FLOATING_IP: Aspect.FLOATING_IP,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one pass found of one aspect."""

    status: Status
    reason: Reason
    message: str


NOT_REACHED = Finding("Unknown", Reason.STEP_AWAITED, "an earlier step is not done yet")


@dataclass(frozen=True)
class ServerFindings:
    """What one pass found, as far as it came; `before`: the conditions that there were.

    `overall`: of Ready, where that is not what the first aspect says that is not true. `deleting`, `paused`:
    as in the object.
    """

    aspects: Mapping[Aspect, Finding] = field(default_factory=dict)
    before: Mapping[str, Condition] = field(default_factory=dict)
    overall: Finding | None = None
    deleting: bool = False
    paused: bool = False

    @property
    def ready(self) -> Finding:
        """What Ready says."""
        if self.overall is not None:
            return self.overall
        for aspect in Aspect:
            found = self.aspects.get(aspect) or self.before.get(aspect)
            if found is None or found.reason in (Reason.INITIALIZING, Reason.STEP_AWAITED):
                return Finding("False", Reason.CREATING, f"being created: {aspect} comes next")
            if found.status != "True":
                return Finding("False", found.reason, found.message)
        return Finding("True", Reason.SERVER_READY, "the server and all its objects exist")

    def conditions(self, generation: int) -> list[Condition]:
        """All of them. Of an aspect that this pass did not come to, what was there before stays."""
        conditions = [
            _condition("Ready", self.ready, generation),
            _condition("Paused", self._paused, generation),
            _condition("Deleting", self._deleting, generation),
        ]
        for aspect in Aspect:
            found, known = self.aspects.get(aspect), self.before.get(aspect)
            if found is None and known is not None and known.reason != Reason.INITIALIZING:
                conditions.append(known)
            else:
                conditions.append(_condition(str(aspect), found or NOT_REACHED, generation))
        return conditions

    @property
    def _paused(self) -> Finding:
        if self.paused:
            return Finding("True", Reason.SUSPENDED, "nothing is written to OpenStack while it is suspended")
        return Finding("False", Reason.NOT_PAUSED, "the controller reconciles the object")

    @property
    def _deleting(self) -> Finding:
        if self.deleting:
            return Finding("True", Reason.DELETING, "the controller first removes the objects in OpenStack")
        return Finding("False", Reason.NOT_DELETING, "the object is not being deleted")


def _condition(type_: str, finding: Finding, generation: int) -> Condition:
    return Condition(type_, finding.status, finding.reason, finding.message, generation)


# Server states in which Nova is at work: docs.openstack.org/api-guide/compute/server_concepts.html.
_AT_WORK = frozenset(("BUILD", "REBUILD", "REBOOT", "HARD_REBOOT", "MIGRATING", "RESIZE", "VERIFY_RESIZE"))


def judge_instance(server: CloudResource | None) -> Finding:
    """What a server that we know the id of says of InstanceReady; None where Nova has no such server."""
    if server is None or server.status in ("DELETED", "SOFT_DELETED"):
        return Finding("False", Reason.INSTANCE_DELETED, "another client has deleted the server")
    if server.status == "ACTIVE":
        return Finding("True", Reason.INSTANCE_ACTIVE, "the server is ACTIVE")
    if server.status == "ERROR":
        fault = server.fault or "Nova gives no reason"
        return Finding("False", Reason.INSTANCE_ERROR, f"the server is in ERROR: {fault}")
    if server.status == "UNKNOWN":
        text = "a cell of Nova is down: the state of the server is not known"
        return Finding("Unknown", Reason.CLOUD_UNKNOWN, text)
    if server.status in _AT_WORK:
        return Finding("False", Reason.INSTANCE_BUILDING, f"the server is in {server.status}")
    return Finding("False", Reason.INSTANCE_NOT_ACTIVE, f"the server is in {server.status}")


def is_quota(code: int, text: str) -> bool:
    """Whether a refusal is about a quota: Nova answers 403, Neutron 409 and Cinder 413, each in words."""
    return code == 413 or (code in (400, 403, 409) and "quota" in text.lower())
