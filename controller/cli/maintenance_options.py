"""Options of `osctl node plan` and `maintain`: one for each field of a maintenance that has a default."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from controller.cli.options import parse_wait
from controller.domain.maintenance.move_choice import Mode, Unmovable


class ModeWord(StrEnum):
    """`--mode`, in lower case like other options."""

    CORDON = "cordon"
    MIGRATE = "migrate"
    EVACUATE = "evacuate"


class UnmovableWord(StrEnum):
    """`--on-unmovable`."""

    BLOCK = "block"
    LEAVE = "leave"
    COLD = "cold"


class LocalDisksWord(StrEnum):
    """`--local-disks`."""

    BLOCK = "block"
    REBUILD = "rebuild"


def _field_duration(given: str | float) -> str:
    """A field of `deadlines`, as the API server takes it. Raises BadParameter on anything else."""
    seconds = int(parse_wait(given))
    return f"{seconds}s" if seconds < 100_000 else f"{seconds // 60}m"


ServersPerNode = Annotated[
    int | None,
    typer.Option("--servers-per-node", min=1, max=100, help="Servers moved at a time from this node: 2."),
]
ServersPerRegion = Annotated[
    int | None,
    typer.Option(
        "--servers-per-region", min=1, max=1000, help="Servers moved at a time in the whole region: 8."
    ),
]
NodesPerAggregate = Annotated[
    int | None,
    typer.Option(
        "--nodes-per-aggregate",
        min=1,
        max=1000,
        help="Nodes of a host aggregate out of service at a time, with this one: 1.",
    ),
]
ServerDeadline = Annotated[
    str | None,
    typer.Option(
        "--server-deadline",
        metavar="DURATION",
        parser=_field_duration,
        help="For one server; a live migration that takes longer is aborted: 15m.",
    ),
]
Deadline = Annotated[
    str | None,
    typer.Option(
        "--deadline",
        metavar="DURATION",
        parser=_field_duration,
        help="For all of it; after that no further server is moved: 4h.",
    ),
]
Retries = Annotated[
    int | None,
    typer.Option("--retries", min=0, max=100, help="How often a failed move is retried: 3."),
]
OnUnmovable = Annotated[
    UnmovableWord | None,
    typer.Option(
        "--on-unmovable",
        case_sensitive=False,
        help="What happens to a server that cannot be migrated live: block.",
    ),
]
LocalDisks = Annotated[
    LocalDisksWord | None,
    typer.Option(
        "--local-disks",
        case_sensitive=False,
        help="With evacuate: what happens to servers whose disks other hosts may not reach: block.",
    ),
]


def mode_of(mode: ModeWord) -> str:
    """`spec.mode` of the word."""
    return str(Mode(mode.value.capitalize()))


def fields_of(
    *,
    servers_per_node: int | None = None,
    servers_per_region: int | None = None,
    nodes_per_aggregate: int | None = None,
    server_deadline: str | None = None,
    deadline: str | None = None,
    retries: int | None = None,
    on_unmovable: UnmovableWord | None = None,
    local_disks: LocalDisksWord | None = None,
) -> dict[str, Any]:
    """The fields of `spec` that the command line names, and no others: the API server knows the defaults."""
    budgets = _given(
        serversPerNode=servers_per_node,
        serversPerRegion=servers_per_region,
        nodesPerAggregate=nodes_per_aggregate,
    )
    deadlines = _given(server=server_deadline, whole=deadline)
    unmovable = str(Unmovable(on_unmovable.value.capitalize())) if on_unmovable else None
    return _given(
        budgets=budgets or None,
        deadlines=deadlines or None,
        retries=retries,
        onUnmovable=unmovable,
        localDisks=local_disks.value.capitalize() if local_disks else None,
    )


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def changes_of(spec: Mapping[str, Any], desired: Mapping[str, Any]) -> dict[str, Any]:
    """What of the desired fields the spec has otherwise; of maps, the entries that differ."""
    changes: dict[str, Any] = {}
    for name, value in desired.items():
        present = spec.get(name)
        if name in ("budgets", "deadlines"):
            entries = {key: one for key, one in value.items() if (present or {}).get(key) != one}
            changes |= {name: entries} if entries else {}
        elif present != value:
            changes[name] = value
    return changes


def reported(changes: Mapping[str, Any]) -> str:
    """The changes in words, such as `mode evacuate, budgets.serversPerNode 2`."""
    words: list[str] = []
    for name, value in changes.items():
        if name in ("budgets", "deadlines"):
            words += [f"{name}.{key} {one}" for key, one in value.items()]
        elif name == "fenced":
            words.append("fenced again")
        else:
            words.append(f"{name} {str(value).lower()}")
    return ", ".join(words)
