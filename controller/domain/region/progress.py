"""How far a region's bundles are: releases deployed, components ready, what each service runs. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.reasons import Reason
from controller.domain.releases.reported_state import ReportedState

# States of releases that something is being done to.
AT_WORK = (ReportedState.INSTALLING, ReportedState.UPGRADING, ReportedState.UNINSTALLING)


@dataclass(frozen=True)
class RegionProgress:
    """The progress of a region's releases: counts, and the names of those that are not simply deployed.

    `done` are deployed as desired now; `begun`: any exists or is in progress. `failing` failed with the
    present spec, actions run on `moving`, `suspended` differ from their spec and wait for an operator.
    `in_progress` approach the present spec without help: not failed ones, nor those that wait for them or for
    a missing release. `without_secrets` are those of them that do not wait for a Secret.
    """

    done: int
    total: int
    current: bool  # every bundle's status is about its present spec
    begun: bool = False
    failing: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()
    suspended: tuple[str, ...] = ()
    in_progress: tuple[str, ...] = ()
    without_secrets: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every release is deployed as described."""
        return self.current and self.done == self.total


def region_progress(bundles: Iterable[Mapping[str, Any]], desired: frozenset[str]) -> RegionProgress:
    """The progress of some bundles as read; `desired` are the names of those that there should be."""
    done = total = 0
    begun = False
    names_in: dict[str, list[str]] = defaultdict(list)
    there = list(bundles)
    names = {str(bundle["metadata"]["name"]) for bundle in there}
    # A bundle that goes away, or that has not been seen yet, is work that is left.
    current = names == desired
    # The releases of an impossible bundle are unknown: it has at least one.
    total += len(desired - names)
    for bundle in there:
        status = bundle.get("status") or {}
        asked = {str(item["name"]) for item in (bundle.get("spec") or {}).get("releases") or []}
        total += len(asked)
        seen = status.get("observedGeneration") == bundle["metadata"].get("generation")
        current = current and seen
        for release in status.get("releases") or []:
            state = release.get("state")
            if release.get("name") in asked:
                done += seen and state == ReportedState.DEPLOYED
                begun = begun or state == ReportedState.DEPLOYED
            else:
                current = False
            if seen or state != ReportedState.FAILED:
                names_in[str(state)].append(str(release.get("name")))
            if state == ReportedState.FAILED and release.get("reason") == Reason.SUSPENDED:
                names_in[ReportedState.SUSPENDED].append(str(release.get("name")))
    moving = tuple(sorted(name for state in AT_WORK for name in names_in[state]))
    return RegionProgress(
        done,
        total,
        current,
        begun=begun or bool(moving),
        failing=tuple(sorted(names_in[ReportedState.FAILED])),
        moving=moving,
        suspended=tuple(sorted(names_in[ReportedState.SUSPENDED])),
        in_progress=tuple(sorted(_in_progress(there))),
        without_secrets=tuple(sorted(_in_progress(there, held=(Reason.SECRET_MISSING,)))),
    )


def _in_progress(bundles: Iterable[Mapping[str, Any]], held: Collection[Reason] = ()) -> set[str]:
    """Releases that helmbundle brings nearer to what is asked for, or has not compared with that yet; none
    that waits for a reason of `held`."""
    needs: dict[str, set[str]] = {}
    there: set[str] = set()
    waiting: set[str] = set()
    result: set[str] = set()
    for bundle in bundles:
        status = bundle.get("status") or {}
        desired = {str(one["name"]): one for one in (bundle.get("spec") or {}).get("releases") or []}
        needs |= {name: set(one.get("dependsOn") or ()) for name, one in desired.items()}
        if status.get("observedGeneration") != bundle["metadata"].get("generation"):
            result |= desired.keys()
            continue
        for release in status.get("releases") or []:
            name, state = str(release.get("name")), release.get("state")
            # Another try of what fails again and again is nothing new.
            fresh = not (release.get("lastAttempt") or {}).get("failures")
            if state == ReportedState.DEPLOYED:
                there.add(name)
            elif state in AT_WORK and fresh:
                result.add(name)
            elif state == ReportedState.WAITING and name in desired and release.get("reason") not in held:
                waiting.add(name)
    # What waits goes on if all that it waits for does.
    while more := {name for name in waiting - result if needs[name] <= there | result}:
        result |= more
    return result


def healthy_text(health: Mapping[str, Any]) -> str:
    """`41/42`: components that are ready, of all; empty while none is known."""
    components = [item for application in health.values() for item in application.values()]
    good = sum(1 for item in components if item.get("status") == "Ready")
    return f"{good}/{len(components)}" if components else ""


def service_entry(
    bundle: Mapping[str, Any], before: Mapping[str, Any], target: str, *, half_way: bool = False
) -> dict[str, str]:
    """A service's entry in `status.services`. `before`: the status as read; `target`: the OpenStack release
    that the bundle is for, empty where the bundle is not what the spec asks for. `half_way`: only some of its
    workloads are of the version that it is upgraded to."""
    name = str(bundle["metadata"]["name"])
    status = bundle.get("status") or {}
    current = status.get("observedGeneration") == bundle["metadata"].get("generation")
    ready = find(status.get("conditions") or [], "Ready")
    deployed = current and ready.get("status") == "True"
    known = str(((before.get("services") or {}).get(name) or {}).get("openstackVersion") or "")
    state = (
        "Applied" if deployed else "Failed" if ready.get("reason") == Reason.RELEASES_FAILING else "Applying"
    )
    if half_way and state != "Failed":
        state = "Upgrading"
    spec = bundle.get("spec") or {}
    if spec.get("planned") and not spec.get("releases"):
        state = "Planned"
    if bundle["metadata"].get("deletionTimestamp"):
        state = "Deleting"
    version = target if deployed and target else known
    return {"state": state, "openstackVersion": version} if version else {"state": state}
