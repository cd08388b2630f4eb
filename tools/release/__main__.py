"""`python -m tools.release VERSION` (make release): the files of a release in one directory."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from sandbox.errors import SandboxError
from sandbox.image.debian import ensure_base
from sandbox.images.build import write_controller_archive
from sandbox.images.oci import architecture
from tools.release.chart import write_chart
from tools.release.checksums import sign, write_sums
from tools.release.materials import write_materials
from tools.release.plugin import write_plugin
from tools.release.source import CHART, ReleaseError, copy_source, epoch_of, refuse_changes, refuse_version
from tools.release.wheel import write_helm, write_wheel

ROOT = Path(__file__).parents[2]
NAME = "openstack-controller"
SUITE = "trixie"


def tell(step: str) -> None:
    """One line of progress."""
    print(f"release: {step}", file=sys.stderr, flush=True)


def make(
    *,
    version: Annotated[str, typer.Argument(help="As pyproject.toml and Chart.yaml name it.")],
    tool: Annotated[Path, typer.Option(help="The program cyclonedx-py.")],
    target: Annotated[Path, typer.Option(help="The directory of the files.")] = Path("build") / "release",
    key: Annotated[Path | None, typer.Option(help="An SSH key, to sign with.")] = None,
    address: Annotated[str, typer.Option(help="The address of the files, for the plugin of kubectl.")] = "",
    without_image: Annotated[
        bool, typer.Option("--without-image", help="Leave the image out: it needs root.")
    ] = False,
    uncommitted: Annotated[
        bool, typer.Option("--uncommitted", help="Also of changed files (tests).")
    ] = False,
) -> None:
    """Make the files of a release, without a network if the caches of packages are full."""
    try:
        if not uncommitted:
            refuse_changes(ROOT)
        refuse_version(ROOT, version)
        draft = target.with_name(f".{target.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        with tempfile.TemporaryDirectory() as place:
            _write_parts(Path(place), draft, version, tool, without_image)
            write_plugin(Path(place), draft, version, epoch_of(ROOT), address)
        sums = write_sums(draft)
        if key is not None:
            tell("signing the checksums")
            sign(sums, key)
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    except (ReleaseError, SandboxError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size:>12}  {path}")


def _write_parts(source: Path, draft: Path, version: str, tool: Path, without_image: bool) -> None:
    epoch = epoch_of(ROOT)
    copy_source(ROOT, source, epoch)
    tell("wheel")
    write_wheel(source, draft, epoch)
    shutil.copyfile(source / "requirements.lock", draft / f"{NAME}-{version}-requirements.txt")
    tell("program of Helm")
    write_helm(draft, version)
    tell("chart")
    digests = {f"{NAME}-chart-{version}.oci.tar": write_chart(source / CHART, draft, epoch)}
    base = None
    if not without_image:
        archive = draft / f"{NAME}-image-{version}-linux-{architecture()}.oci.tar"
        tell("image")
        digests[archive.name] = write_controller_archive(archive, SUITE, tell, source).digest
        base = ensure_base(SUITE, tell)
    tell("bill of materials")
    write_materials(source, draft / f"{NAME}-{version}.cdx.json", tool, epoch, base)
    lines = [f"{digest}  {name}\n" for name, digest in digests.items()]
    (draft / "OCI-DIGESTS").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    typer.run(make)
