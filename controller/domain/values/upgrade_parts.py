"""How a service is upgraded to another version of OpenStack, as its folder names it: parts and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class UpgradePart:
    """One step of a service's upgrade to another version of OpenStack.

    `part` is empty for the first or only one. `charts` are those that it upgrades: of a chart that an earlier
    part upgrades, only the images of `tags`. `place` is its place among the steps of all services. With
    `by_node` its pods are replaced node by node. `hops` are by chart the images of versions that its data may
    have to pass through.
    """

    part: str
    phase: str
    place: int
    charts: tuple[str, ...]
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_node: bool = False
    hops: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def parse_upgrade_parts(body: Mapping[str, Any], order: int) -> tuple[UpgradePart, ...]:
    """The parts from a service.yaml that matches its schema; without any, all charts at once.

    `order` is the place of a part that names none.
    """
    phase = "Infrastructure" if body["group"] == "infra" else "ControlPlane"
    written = body.get("upgrade") or [{"phase": phase, "charts": list(body["charts"])}]
    return tuple(
        UpgradePart(
            part=one.get("part", ""),
            phase=one["phase"],
            place=one.get("place", order),
            charts=tuple(one["charts"]),
            tags={chart: tuple(tags) for chart, tags in one.get("tags", {}).items()},
            by_node=one.get("byNode", False),
            hops={chart: dict(images) for chart, images in one.get("hops", {}).items()},
        )
        for one in written
    )


@dataclass(frozen=True)
class UpgradeCheck:
    """A program that says whether a release can be upgraded, or that migrates its data after all steps.

    It runs in a pod as that of the Deployment `workload` of `chart`. Its image is that of `tag`: the one that
    the upgrade brings, or with `running` the one before. Its sessions with `databases`, which are groups of
    options, may only read. `findings` begin the lines that say what it found, empty for oslo.upgradecheck's
    report. `remedy` is for a failure. One that `migrates` gives data their new form after all steps, while
    services run, and writes.
    """

    name: str
    chart: str
    workload: str
    tag: str
    command: tuple[str, ...]
    running: bool = False
    databases: tuple[str, ...] = ("database",)
    findings: str = ""
    remedy: str = ""
    migrates: bool = False


def parse_upgrade_checks(body: Mapping[str, Any]) -> tuple[UpgradeCheck, ...]:
    """The checks and migrations from a service.yaml that matches its schema."""
    checks = [_parse_check(one) for one in body.get("upgradeChecks", ())]
    migrations = [_parse_check({**one, "databases": ()}) for one in body.get("upgradeMigrations", ())]
    return (*checks, *(replace(one, migrates=True) for one in migrations))


def _parse_check(one: Mapping[str, Any]) -> UpgradeCheck:
    return UpgradeCheck(
        name=one["name"],
        chart=one["chart"],
        workload=one["workload"],
        tag=one["tag"],
        command=tuple(one["command"]),
        running=one.get("imageOf") == "Running",
        databases=tuple(one.get("databases", UpgradeCheck.databases)),
        findings=one.get("findings", ""),
        remedy=one.get("remedy", ""),
    )
