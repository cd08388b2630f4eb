"""Layers of images: each a stage above others, made once for its inputs and kept in the cache."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.images.oci import Layer, write_layer
from sandbox.locks import locked
from sandbox.packages import run, unpack_packages
from sandbox.paths import SOURCE, cache_root

SCRIPTS = SOURCE / "images" / "scripts"
DRIVER = SOURCE / "images" / "stage.sh"
STAGE_SECONDS = 3600.0
_ALWAYS = ("ca-certificates", "python3")

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Stage:
    """One step over those in `below` (the lowest first; the root file system of Debian where empty).

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
        return self.directory / "root"


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
    found = read_layer(stage.directory)
    if found is not None:
        return found
    for one in stage.below:
        ensure_stage(one, tell)
    lock = stage.directory.with_name(f".{stage.directory.name}.lock")
    with locked(
        lock, timeout=STAGE_SECONDS, on_wait=lambda: tell(f"waiting for another build of {stage.name}")
    ):
        return read_layer(stage.directory) or _make(stage, tell)


def read_layer(directory: Path) -> Layer | None:
    """The layer in a place of the cache, as noted by the build that finished; None where none did."""
    try:
        noted = json.loads((directory / "layer.json").read_text())
    except (OSError, ValueError):
        return None
    return Layer(**{**noted, "file": directory / "layer.tar"})


def _make(stage: Stage, tell: Tell) -> Layer:
    tell(f"building the layer {stage.name}")
    parent = stage.directory.parent
    for leftover in parent.glob(f".draft-{stage.name}-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix=f".draft-{stage.name}-", dir=parent))
    try:
        tree = draft / "root"
        tree.mkdir()
        if stage.below or not stage.packages:
            _run_stage(stage, tree, draft)
        else:
            _bootstrap(stage, tree, draft, tell)
        layer = write_layer(tree, draft / "layer.tar", keep=stage.keep)
        (draft / "layer.json").write_text(json.dumps({**asdict(layer), "file": ""}))
        shutil.rmtree(draft / "work", ignore_errors=True)
        shutil.rmtree(stage.directory, ignore_errors=True)
        draft.rename(stage.directory)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    made = read_layer(stage.directory)
    if made is None:
        raise SandboxError(f"the layer in {stage.directory} changed while it was published; run it again")
    return made


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


def _bootstrap(stage: Stage, tree: Path, draft: Path, tell: Tell) -> None:
    """A root file system of Debian from the machine's own mirror."""
    tools = cache_root() / "packages" / "debootstrap"
    unpack_packages(("debootstrap",), tools, tell)
    release = debian_release()
    command = ["sh", str(tools / "usr/sbin/debootstrap"), "--variant=minbase", "--merged-usr"]
    command += [f"--include={','.join(stage.packages)}", f"--cache-dir={_downloads() / 'debootstrap'}"]
    (_downloads() / "debootstrap").mkdir(exist_ok=True)
    environment = {"DEBOOTSTRAP_DIR": str(tools / "usr/share/debootstrap"), "LC_ALL": "C.UTF-8"}
    run([*command, release, str(tree), _mirror(release)], timeout=STAGE_SECONDS, environment=environment)
    for place in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"):
        for entry in (tree / place).iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for name in ("etc/resolv.conf", "etc/hostname"):
        (tree / name).write_text("")
    # The pages above are made anew by no package; a bytecode file by its content is valid at any time.
    compile_all = ["python3", "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash"]
    run(["chroot", str(tree), *compile_all, "/usr/lib/python3"], timeout=600)
    (library,) = (tree / "usr/lib").glob("python3.*")
    run(["chroot", str(tree), *compile_all, f"/usr/lib/{library.name}"], timeout=600)


def _mirror(release: str) -> str:
    """Where apt has the packages of this release from."""
    listed = run(["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"])
    for line in listed.splitlines():
        name, _, address = line.partition(" ")
        if name == release:
            return address
    raise SandboxError(f"apt knows no source of Debian {release}: see its sources.list")
