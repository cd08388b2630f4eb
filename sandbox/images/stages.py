"""Layers of images: each a stage above others, made once for its inputs and kept in the cache."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.image.debian import base_directory, ensure_base
from sandbox.images.oci import Layer, write_layer
from sandbox.locks import locked
from sandbox.paths import SOURCE, cache_root

SCRIPTS = SOURCE / "images" / "scripts"
DRIVER = SOURCE / "images" / "stage.sh"
STAGE_SECONDS = 3600.0

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Stage:
    """One step over those in `below` (the lowest first); without any, the root file system of Debian.

    `packages` of Debian; `script`: a file of `scripts`, run after them; `inputs`: files that it finds beside
    itself in /mnt. `keep`: paths that alone become the layer. What the stage writes besides is thrown away.
    """

    name: str
    below: tuple[Stage, ...] = ()
    packages: tuple[str, ...] = ()
    script: str = ""
    inputs: tuple[Path, ...] = ()
    keep: tuple[str, ...] = ()

    def digest(self) -> str:
        """What the stage is made of, its packages' versions apart: those are of the day it was made."""
        digest = hashlib.sha256()
        if not self.below:
            return base_directory(debian_release()).name
        told = [self.name, debian_release(), platform.machine(), *self.packages, "--", *self.keep]
        digest.update(json.dumps([told, [stage.digest() for stage in self.below]]).encode())
        for path in (DRIVER, *((SCRIPTS / self.script,) if self.script else ()), *_files(self.inputs)):
            digest.update(f"{path.name}\0".encode() + path.read_bytes())
        return digest.hexdigest()[:20]

    @property
    def directory(self) -> Path:
        """Its place in the cache."""
        return cache_root() / "images" / f"{self.name}-{self.digest()}"

    @property
    def tree(self) -> Path:
        """What it wrote over the stages below."""
        return self.directory / "root" if self.below else base_directory(debian_release())


def _files(inputs: tuple[Path, ...]) -> list[Path]:
    return [
        file
        for one in inputs
        for file in (sorted(path for path in one.rglob("*") if path.is_file()) if one.is_dir() else [one])
    ]


def debian_release() -> str:
    """The code name of this machine's Debian, whose packages the images have. Raises SandboxError."""
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        lines = []
    told = dict(line.split("=", 1) for line in lines if "=" in line)
    name = told.get("VERSION_CODENAME", "").strip('"')
    if told.get("ID", "").strip('"') != "debian" or not name:
        raise SandboxError("images are made of Debian's packages, and this machine does not run Debian")
    return name


def ensure_stage(stage: Stage, tell: Tell) -> Layer:
    """The layer of the stage, made first (with those below) if the cache lacks it. Raises SandboxError."""
    for one in stage.below:
        ensure_stage(one, tell)
    return ensure_layer(stage.directory, lambda file: _make(stage, file, tell), tell)


def read_layer(directory: Path) -> Layer | None:
    """The layer in a place of the cache, as noted by the build that finished; None where none did."""
    try:
        noted = json.loads((directory / "layer.json").read_text())
    except (OSError, ValueError):
        return None
    return Layer(**{**noted, "file": directory / "layer.tar"})


def _make(stage: Stage, file: Path, tell: Tell) -> Layer:
    tell(f"building the layer {stage.name}")
    draft = file.parent
    if not stage.below:
        return write_layer(ensure_base(debian_release(), tell), file)
    tree = draft / "root"
    tree.mkdir()
    _run_stage(stage, tree, draft)
    layer = write_layer(tree, file, keep=stage.keep)
    shutil.rmtree(draft / "work", ignore_errors=True)
    return layer


def ensure_layer(place: Path, write: Callable[[Path], Layer], tell: Tell = lambda _: None) -> Layer:
    """The layer in that place of the cache; if there is none, `write` makes it, as a file.

    It is published with all that lies beside it by one rename. Safe with other processes that do the same.
    """
    found = read_layer(place)
    if found is not None:
        return found
    lock = place.with_name(f".{place.name}.lock")
    with locked(
        lock, timeout=STAGE_SECONDS, on_wait=lambda: tell(f"waiting for another build of {place.name}")
    ):
        return read_layer(place) or _publish(place, write)


def _publish(place: Path, write: Callable[[Path], Layer]) -> Layer:
    for leftover in place.parent.glob(f".draft-{place.name}-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix=f".draft-{place.name}-", dir=place.parent))
    try:
        layer = write(draft / "layer.tar")
        (draft / "layer.json").write_text(json.dumps({**asdict(layer), "file": ""}))
        shutil.rmtree(place, ignore_errors=True)
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return replace(layer, file=place / "layer.tar")


def _run_stage(stage: Stage, tree: Path, draft: Path) -> None:
    inputs = draft / "work" / "inputs"
    inputs.mkdir(parents=True)
    for path in (*((SCRIPTS / stage.script,) if stage.script else ()), *stage.inputs):
        if path.is_dir():
            shutil.copytree(path, inputs / path.name)
        else:
            shutil.copy(path, inputs / path.name)
    lower = ":".join(str(one.tree) for one in reversed(stage.below))
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", str(DRIVER)]
    places = [lower, str(tree), str(draft / "work"), str(inputs), str(_downloads())]
    log = draft / "log"
    with log.open("wb") as output:
        try:
            answer = subprocess.run(
                [*command, *places, stage.script, *stage.packages],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=STAGE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SandboxError(f"the layer {stage.name} was not made in {STAGE_SECONDS:.0f} s") from None
    if answer.returncode != 0:
        end = log.read_text(errors="replace")[-2500:].strip()
        raise SandboxError(f"the layer {stage.name} cannot be made:\n{end}")


def _downloads() -> Path:
    """Archives of packages; one build at a time writes each."""
    place = cache_root() / "images" / "downloads"
    place.mkdir(parents=True, exist_ok=True)
    return place
