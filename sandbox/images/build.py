"""Images from recipes: every layer made once, and kept in the cache."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path

from sandbox.go_modules import GoModule, Report, ensure_module
from sandbox.images.oci import Image, ImageConfig, Layer, write_layer
from sandbox.images.recipes import Recipe
from sandbox.images.stages import Tell, ensure_stage, read_layer
from sandbox.paths import SOURCE, cache_root

PAUSE_MODULE = GoModule("pause", SOURCE / "images" / "pause", ("osctl.dev/sandbox/pause",))


def ensure_image(recipe: Recipe, tell: Tell) -> Image:
    """The image of a recipe; layers that the cache lacks are made first. Raises SandboxError."""
    return Image(tuple(ensure_stage(stage, tell) for stage in recipe.stages), recipe.config)


def ensure_pause_image(report: Report) -> Image:
    """The image of the process that keeps a pod's namespaces: one program without libraries."""
    program = ensure_module(PAUSE_MODULE, report) / "bin" / "pause"
    place = cache_root() / "images" / f"pause-{PAUSE_MODULE.digest()}"
    layer = read_layer(place) or _layer_of_program(program, place)
    return Image((layer,), ImageConfig(("/pause",), user="65535:65535"))


def _layer_of_program(program: Path, place: Path) -> Layer:
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".draft-{place.name}-", dir=place.parent))
    try:
        (draft / "root").mkdir()
        shutil.copy(program, draft / "root" / program.name)
        layer = write_layer(draft / "root", draft / "layer.tar", owner=(0, 0))
        (draft / "layer.json").write_text(json.dumps({**asdict(layer), "file": ""}))
        shutil.rmtree(place, ignore_errors=True)
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return Layer(place / "layer.tar", layer.digest, layer.size, layer.diff_id)
