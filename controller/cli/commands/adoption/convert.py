"""osctl convert: an OpenStackDeployment of rockoon as one of this controller, from files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controller.adapters.system.crd_files import load_schema
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.region import offline_renderer
from controller.cli.options import FileArgument, Filenames, Recursive, files_of
from controller.cli.output import WARNING, Format, print_documents, print_problems, soft_wrapped, stderr
from controller.domain.adoption.rockoon import API, KIND, ConvertedRegion, convert_rockoon
from controller.errors import Problem, SpecInvalid
from controller.ports.kubernetes import OSDPL
from controller.settings import read_settings


def convert(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    charts: Annotated[
        str,
        typer.Option(
            "--charts", metavar="ADDRESS", help="Repository of OpenStack-Helm's charts for the region."
        ),
    ] = "",
    output: Annotated[Format, typer.Option("--output", "-o", help="Output format.")] = Format.YAML,
) -> None:
    """Convert OpenStackDeployments of rockoon, without a cluster. Each field without a counterpart is named
    with what to write instead. Passwords, keys and certificates are not printed: Secrets have to hold them.
    """
    if output == Format.TABLE:
        raise typer.BadParameter("choose yaml or json", param_hint="--output")
    presets = {
        name: frozenset(preset.services) for name, preset in offline_renderer().library.presets.items()
    }
    schema = load_schema(read_settings().crds_dir, OSDPL.plural)
    documents: list[Any] = []
    for item in read_objects(files_of(files, filenames), recursive=recursive):
        if (item.obj.get("apiVersion"), item.kind) != (API, KIND):
            text = f"{item.source}  {item.title}: not converted, because it is not a {KIND} of {API}"
            stderr().print(soft_wrapped(text), style="dim")
            continue
        converted = convert_rockoon(item.obj, presets)
        if charts:
            converted.document["spec"]["charts"] = {"repository": charts}
        print_problems(item.locate_all(converted.notes), WARNING)
        _print_secrets(converted)
        wrong = schema.problems(schema.defaulted(converted.document))
        print_problems([Problem(one.path, one.message, one.remedy, "converted") for one in wrong], WARNING)
        documents.append(converted.document)
    if not documents:
        raise SpecInvalid([Problem("$", f"no {KIND} of {API} in the files")])
    print_documents(documents, output)


def _print_secrets(converted: ConvertedRegion) -> None:
    namespace = converted.document["metadata"]["namespace"]
    for secret in converted.secrets:
        keys = " ".join(f"--from-file={key}=FILE" for key in secret.keys)
        kind = "generic" if "tls.crt" not in secret.keys else "tls"
        given = keys if kind == "generic" else "--cert=FILE --key=FILE"
        text = f"create: kubectl -n {namespace} create secret {kind} {secret.name} {given}"
        stderr().print(soft_wrapped(text))
