"""Images from recipes: every layer made once, and kept in the cache."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from sandbox.go_modules import GoModule, Report, ensure_module
from sandbox.image import dockerfile
from sandbox.image.debian import ensure_base
from sandbox.images.oci import Image, ImageConfig, Layer, compress_layer, write_archive, write_layer
from sandbox.images.recipes import Recipe
from sandbox.images.stages import Tell, debian_release, ensure_layer, ensure_stage
from sandbox.paths import SOURCE, cache_root

ROOT = SOURCE.parent
CONTROLLER_NAME = "docker.io/library/openstack-controller:0.1.0"
"""As the chart asks for it by default."""
PAUSE_MODULE = GoModule("pause", SOURCE / "images" / "pause", ("osctl.dev/sandbox/pause",))


def ensure_image(recipe: Recipe, tell: Tell) -> Image:
    """The image of a recipe; layers that the cache lacks are made first. Raises SandboxError."""
    return Image(tuple(ensure_stage(stage, tell) for stage in recipe.stages), recipe.config)


def ensure_controller_image(tell: Tell, suite: str = "", source: Path = ROOT) -> Image:
    """The controller's own image: the steps of its Dockerfile on a Debian suite (this machine's by default).

    `source`: the checkout, or a copy of it. Raises SandboxError.
    """
    made = dockerfile.build(source / "Dockerfile", ensure_base(suite or debian_release(), tell), tell)
    config = ImageConfig(
        made.command, environment=made.environment, user=made.user, working_directory=made.directory
    )
    return Image(tuple(_layer_of_tree(tree) for tree in made.layers), config)


def write_controller_archive(file: Path, suite: str, tell: Tell, source: Path = ROOT) -> Image:
    """Writes the controller's image, compressed, as an OCI archive into `file`, in one step.

    Raises SandboxError, and OSError where the file cannot be written.
    """
    plain = ensure_controller_image(tell, suite, source)
    tell("compressing its layers")
    image = replace(plain, layers=tuple(_compressed(layer) for layer in plain.layers))
    draft = file.with_name(f".{file.name}.draft")
    try:
        with draft.open("wb") as stream:
            write_archive(image, [CONTROLLER_NAME], stream)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    return image


def _compressed(layer: Layer) -> Layer:
    place = cache_root() / "images" / f"gzip-{layer.diff_id.removeprefix('sha256:')[:20]}"
    return ensure_layer(place, lambda file: compress_layer(layer, file))


def _layer_of_tree(tree: Path) -> Layer:
    """The layer of a directory whose name stands for what is in it."""
    place = cache_root() / "images" / f"tree-{tree.name}"
    return ensure_layer(place, lambda file: write_layer(tree, file))


def ensure_pause_image(report: Report) -> Image:
    """The image of the process that keeps a pod's namespaces: one program without libraries."""
    program = ensure_module(PAUSE_MODULE, report) / "bin" / "pause"
    place = cache_root() / "images" / f"pause-{PAUSE_MODULE.digest()}"
    layer = ensure_layer(place, lambda file: _layer_of_program(program, file))
    return Image((layer,), ImageConfig(("/pause",), user="65535:65535"))


def _layer_of_program(program: Path, file: Path) -> Layer:
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(program, place)
        return write_layer(Path(place), file, owner=(0, 0))
