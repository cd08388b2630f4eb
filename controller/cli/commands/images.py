"""osctl images: every image that a region runs, for mirroring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from controller.cli.exit_codes import ExitCode
from controller.cli.offline.image_sources import backup_images, image_sources
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.manifests import offline_helm, render_release
from controller.cli.offline.region import OfflineRegion, OfflineRenderer, offline_renderer
from controller.cli.options import FileArgument, Filenames, Output, Recursive, Releases, files_of
from controller.cli.output import Format, print_data, print_table, soft_wrapped, stderr, stdout
from controller.cli.release_choice import choose
from controller.domain.region.upgrade.broker_version_hops import hop_images
from controller.domain.releases.manifest_diff import images as images_of
from controller.domain.values.chart_values import Values
from controller.domain.values.images import image_names, images_by_tag
from controller.errors import ChartInvalid


def images(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    releases: Releases = None,
    tags: Annotated[
        bool, typer.Option("--tags", help="List every image that the values name, also unused ones.")
    ] = False,
    digests: Annotated[
        bool,
        typer.Option(
            "--digests",
            help="Ask registries for the current digests of tags, and print them as spec.images.overrides.",
        ),
    ] = False,
    copy: Annotated[
        bool,
        typer.Option(
            "--copy",
            help="Print a skopeo command for each image that spec.images.registry must have; with -o "
            "json, sources and targets.",
        ),
    ] = False,
    ca_file: Annotated[
        Path | None,
        typer.Option("--ca-file", metavar="FILE", help="File with the CA certificates of the registries."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Print every image of a region with the releases that run it, hook Jobs included."""
    renderer = offline_renderer()
    regions = renderer.render_all(read_objects(files_of(files, filenames), recursive=recursive))
    if digests:
        chosen = [release for region in regions for release in choose(region, releases)]
        ca = ca_file.read_text(encoding="utf-8") if ca_file else ""
        _print_pinned([release.merged.values for release in chosen], ca, output)
        return
    sources = _sources(regions, renderer) if copy else {}
    ordered = _users(regions, releases, None if tags else renderer)
    if copy:
        _print_copies({image: sources[image] for image in ordered if image in sources}, output)
        return
    if output == Format.TABLE:
        print_table(
            stdout(), ("IMAGE", "RELEASES"), [(image, ", ".join(ordered[image])) for image in ordered]
        )
    else:
        print_data([{"image": image, "releases": ordered[image]} for image in ordered], output)


def _users(
    regions: Iterable[OfflineRegion], releases: list[str] | None, renderer: OfflineRenderer | None
) -> dict[str, list[str]]:
    """The releases of each image that runs; without a renderer, of each that values name. Jobs of backups
    belong to no release: `features.backup` stands for these."""
    users: dict[str, set[str]] = {}
    helm = offline_helm() if renderer is not None else None
    for region in regions:
        for release in choose(region, releases):
            if renderer is None or helm is None:
                found = frozenset(image_names(release.merged.values))
                found |= hop_images(region.region.upgrade_steps, release.spec.chart.name)
            else:
                rendered = render_release(release.spec, renderer.charts, helm)
                found = images_of((*rendered.manifest, *rendered.hooks))
            for image in found:
                users.setdefault(image, set()).add(release.spec.name)
        for image in () if releases else backup_images(region):
            users.setdefault(image, set()).add("features.backup")
    return {image: sorted(users[image]) for image in sorted(users)}


def _sources(regions: Iterable[OfflineRegion], renderer: OfflineRenderer) -> dict[str, tuple[str, ...]]:
    """By target, the images to copy for all these regions."""
    found: dict[str, tuple[str, ...]] = {}
    for region in regions:
        for target, sources in image_sources(region, renderer).items():
            found[target] = tuple(sorted({*found.get(target, ()), *sources}))
    return found


def _print_copies(sources: Mapping[str, tuple[str, ...]], output: Format) -> None:
    """A command for each image; a target with several sources is reported, because one of them would win."""
    for target, each in sources.items():
        if len(each) > 1:
            text = f"{target}: several images have this name in the registry: {', '.join(each)}"
            stderr().print(soft_wrapped(text), style="yellow")
    pairs = [(source, target) for target, each in sources.items() for source in each]
    if output == Format.TABLE:
        for source, target in pairs:
            stdout().print(f"skopeo copy --all docker://{source} docker://{target}", soft_wrap=True)
    else:
        print_data([{"source": source, "target": target} for source, target in pairs], output)


def _print_pinned(values: Iterable[Values], ca: str, output: Format) -> None:
    """The part of a spec that names images by their digest; failed requests are reported, and their images
    are omitted.
    """
    # Commands that work on files alone do not wait for the import of an HTTP client.
    from controller.adapters.charts.image_digests import pinned_image

    pinned, failed = cache(pinned_image), False
    overrides: dict[str, str] = {}
    for name, images in images_by_tag(values).items():
        if len(images) > 1:
            text = (
                f"{name}: charts use this name for several images, so one override cannot replace them: "
                f"{', '.join(images)}"
            )
            stderr().print(soft_wrapped(text), style="yellow")
            continue
        try:
            overrides[name] = pinned(images[0], ca=ca)
        except ChartInvalid as error:
            stderr().print(soft_wrapped(f"{name}: {images[0]}: {error}"), style="yellow")
            failed = True
    shown = Format.YAML if output == Format.TABLE else output
    print_data({"spec": {"images": {"overrides": overrides}}}, shown)
    if failed:
        raise typer.Exit(ExitCode.FAILED)
