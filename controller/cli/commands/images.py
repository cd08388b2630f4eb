"""osctl images: every image that a region runs, for mirroring."""

from __future__ import annotations

from typing import Annotated

import typer

from controller.cli.offline.input_files import read_objects
from controller.cli.offline.manifests import offline_helm, render_release
from controller.cli.offline.region import offline_renderer
from controller.cli.options import FileArgument, Filenames, Output, Recursive, Releases, files_of
from controller.cli.output import Format, print_data, print_table, stdout
from controller.cli.release_choice import choose
from controller.domain.releases.manifest_diff import images as images_of
from controller.domain.values.images import image_names


def images(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    releases: Releases = None,
    tags: Annotated[
        bool, typer.Option("--tags", help="Every image that the values name, also those that nothing runs.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Print every image of a region with the releases that run it, hook Jobs included."""
    renderer = offline_renderer()
    regions = renderer.render_all(read_objects(files_of(files, filenames), recursive=recursive))
    users: dict[str, set[str]] = {}
    helm = None if tags else offline_helm()
    for region in regions:
        for release in choose(region, releases):
            if helm is None:
                found = frozenset(image_names(release.merged.values))
            else:
                rendered = render_release(release.spec, renderer.charts, helm)
                found = images_of((*rendered.manifest, *rendered.hooks))
            for image in found:
                users.setdefault(image, set()).add(release.spec.name)
    ordered = {image: sorted(users[image]) for image in sorted(users)}
    if output == Format.TABLE:
        print_table(
            stdout(), ("IMAGE", "RELEASES"), [(image, ", ".join(ordered[image])) for image in ordered]
        )
    else:
        print_data([{"image": image, "releases": ordered[image]} for image in ordered], output)
