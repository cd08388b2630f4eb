"""osctl machines: MachineSets of the machine API as Cluster API knows them, from files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from controller.adapters.system.crd_files import load_schema
from controller.cli.offline.input_files import InputObject, read_objects
from controller.cli.options import FileArgument, Filenames, Recursive, files_of
from controller.cli.output import WARNING, Format, print_documents, print_problems, stderr
from controller.domain.machines.machine_set import MACHINE_SET, SOURCE_API, convert_machine_set
from controller.domain.machines.metadata import PAUSED
from controller.domain.machines.one_machine import expand_machine
from controller.domain.machines.provider_spec import Cluster
from controller.errors import Problem, SpecInvalid
from controller.ports.kubernetes import SERVER
from controller.settings import read_settings

app = typer.Typer(no_args_is_help=True, help="MachineSets of machine.openshift.io and of Cluster API.")

_CLUSTER_LABEL = "machine.openshift.io/cluster-api-cluster"


@app.callback()
def _commands() -> None:
    """Commands for MachineSets."""


@app.command()
def convert(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    namespace: Annotated[
        str,
        typer.Option("--namespace", "-n", metavar="NAMESPACE", help="Namespace of the Cluster."),
    ] = "openshift-cluster-api",
    cluster: Annotated[
        str,
        typer.Option(
            "--cluster",
            metavar="NAME",
            help=f"Name of the Cluster of Cluster API [default: the label {_CLUSTER_LABEL} of each set].",
            show_default=False,
        ),
    ] = "",
    virtual_addresses: Annotated[
        list[str] | None,
        typer.Option(
            "--virtual-address",
            metavar="ADDRESS",
            help="A virtual address of the cluster, which the ports of its machines allow; may be repeated.",
            show_default=False,
        ),
    ] = None,
    as_server: Annotated[
        bool,
        typer.Option(
            "--as-server",
            help="Instead, print an OpenStackServer that equals one machine of each set, for a test.",
        ),
    ] = False,
    output: Annotated[Format, typer.Option("--output", "-o", help="Output format.")] = Format.YAML,
) -> None:
    """Convert MachineSets of machine.openshift.io on OpenStack to Cluster API, without a cluster.

    Prints a MachineSet of cluster.x-k8s.io and an OpenStackMachineTemplate for each. The MachineSets are
    paused, because Cluster API must not create machines while the machine API has them.
    """
    if output == Format.TABLE:
        raise typer.BadParameter("choose yaml or json", param_hint="--output")
    items = read_objects(files_of(files, filenames), recursive=recursive)
    problems: list[Problem] = []
    documents: list[Any] = []
    for item in _machine_sets(items, problems):
        target = Cluster(cluster or _cluster_of(item, problems), namespace, tuple(virtual_addresses or ()))
        converted = convert_machine_set(item.obj, target)
        print_problems(item.locate_all(converted.warnings), WARNING)
        problems += item.locate_all(converted.errors)
        if as_server and converted.machine_set and converted.template:
            documents += _servers(item, converted.machine_set, converted.template, problems)
        elif converted.machine_set and converted.template:
            metadata = converted.machine_set["metadata"]
            metadata["annotations"] = {**metadata.get("annotations", {}), PAUSED: ""}
            documents += [converted.machine_set, converted.template]
    if problems:
        raise SpecInvalid(problems)
    print_documents(documents, output)


def _servers(
    item: InputObject, machine_set: dict[str, Any], template: dict[str, Any], problems: list[Problem]
) -> list[dict[str, Any]]:
    """The server of one machine, if the API server would accept it."""
    expanded = expand_machine(machine_set, template)
    found = list(expanded.errors)
    if expanded.server is not None:
        schema = load_schema(read_settings().crds_dir, SERVER.plural)
        found += schema.problems(schema.defaulted(expanded.server))
    print_problems([_of_server(item, warning) for warning in expanded.warnings], WARNING)
    problems += [_of_server(item, problem) for problem in found]
    return [expanded.server] if expanded.server is not None and not found else []


def _of_server(item: InputObject, problem: Problem) -> Problem:
    """A problem at a path of the server, which the file does not have, so it is reported for the set."""
    source = f"{item.source}:{item.line}"
    return Problem(problem.path, f"of the {SERVER.kind}: {problem.message}", problem.remedy, source)


def _machine_sets(items: tuple[InputObject, ...], problems: list[Problem]) -> Iterator[InputObject]:
    found = False
    for item in items:
        if (item.obj.get("apiVersion"), item.kind) == (SOURCE_API, MACHINE_SET):
            found = True
            yield item
        else:
            text = (
                f"{item.source}  {item.title}: not converted, because it is not a {MACHINE_SET} of "
                f"{SOURCE_API}"
            )
            stderr().print(text, style="dim")
    if not found:
        remedy = "kubectl get machinesets.machine.openshift.io -A -o yaml prints those of a cluster"
        problems.append(Problem("$", f"no {MACHINE_SET} of {SOURCE_API} in the files", remedy))


def _cluster_of(item: InputObject, problems: list[Problem]) -> str:
    """The name of the cluster from the set's own label; an error if there is none."""
    metadata = item.obj.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    name = labels.get(_CLUSTER_LABEL) if isinstance(labels, dict) else None
    if isinstance(name, str) and name:
        return name
    message = f"has no label {_CLUSTER_LABEL}, so its cluster is not known"
    problems.append(item.locate(Problem("metadata.labels", message, "name the cluster with --cluster")))
    return "unknown"
