"""A Dockerfile carried out without Docker: its own steps, one layer each, on a root file system of ours.

A layer is a directory, as an overlay file system takes it; it is kept under a digest of all that decides what
is in it: the layers below, the step, and the content of what is copied. So each step is carried out once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from sandbox.errors import SandboxError
from sandbox.image import mounts
from sandbox.image.debian import LOCK_SECONDS, Tell, images_root, run
from sandbox.locks import locked
from sandbox.patience import patient

# Layers that nothing asked for in so many seconds are removed: each state of our own code makes new ones.
KEPT_SECONDS = 7 * 24 * 3600.0
STEP_SECONDS = 1800.0
# Environment of a build: only this machine's settings for package registries.
_PASSED_ON = re.compile(
    r"PIP_\w+|GOPROXY|GO(NO)?SUMDB|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|(?i:https?|no|all)_PROXY"
)
_IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc")
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Image:
    """What a Dockerfile makes: `layers` from the lowest to the topmost, and what a process of it is given."""

    layers: tuple[Path, ...]
    environment: Mapping[str, str]
    user: str
    directory: str
    command: tuple[str, ...]


@dataclass
class _Stage:
    layers: list[Path]
    key: str
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": _DEFAULT_PATH})
    user: str = "0:0"
    directory: str = "/"
    command: tuple[str, ...] = ()

    def finished(self) -> Image:
        return Image(tuple(self.layers), dict(self.environment), self.user, self.directory, self.command)


def parse_steps(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction with what stands behind it; lines that go on are joined, comments left out."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n", " ", lines).splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name.upper(), " ".join(rest.split())


def build(dockerfile: Path, base: Path, tell: Tell = lambda _: None) -> Image:
    """The last stage of the Dockerfile, every stage of it on `base`; its context is its own directory.

    Safe with other processes that do the same. Raises SandboxError, with what a step printed.
    """
    store = images_root() / "layers"
    store.mkdir(parents=True, exist_ok=True)
    with locked(images_root() / ".build.lock", timeout=LOCK_SECONDS):
        return _Build(dockerfile.parent, base, store, tell).carry_out(dockerfile.read_text(encoding="utf-8"))


class _Build:
    def __init__(self, context: Path, base: Path, store: Path, tell: Tell) -> None:
        self._context = context
        self._base = base
        self._store = store
        self._tell = tell
        self._stages: dict[str, _Stage] = {}
        self._stage = _Stage([], "")

    def carry_out(self, text: str) -> Image:
        for name, rest in parse_steps(text):
            self._step(name, rest)
        self._forget_old()
        return self._stage.finished()

    def _step(self, name: str, rest: str) -> None:
        stage = self._stage
        match name:
            case "FROM":
                # Whatever it names: `base` stands for it.
                named = rest.split()[2] if " " in rest else str(len(self._stages))
                self._stage = _Stage([self._base], self._base.name)
                self._stages[named] = self._stage
            case "ENV":
                for part in shlex.split(rest):
                    key, _, text = part.partition("=")
                    stage.environment[key] = text
            case "WORKDIR":
                stage.directory = rest
            case "USER":
                stage.user = rest
            case "CMD":
                stage.command = tuple(json.loads(rest))
            case "RUN":
                self._run(stage, rest)
            case "COPY":
                self._copy(stage, rest)
            case "ARG" | "LABEL":
                pass
            case _:
                raise SandboxError(f"{name} {rest}: this instruction is not known here")

    # -- steps --------------------------------------------------------------------------------------

    def _run(self, stage: _Stage, command: str) -> None:
        def make(draft: Path) -> None:
            passed_on = {key: text for key, text in os.environ.items() if _PASSED_ON.fullmatch(key)}
            root = draft.with_name(f"{draft.name}.root")
            # Of this machine, what leads to the registries.
            ways = {Path(text) for text in ("/etc/resolv.conf", *passed_on.values()) if text.startswith("/")}
            script = (
                mounts.overlay(stage.layers, root, draft),
                *(mounts.bind(way, str(way), root) for way in sorted(ways) if way.exists()),
                f"mount --rbind /dev {root}/dev",
                f"mount -t proc proc {root}/proc",
                f"mkdir -p {shlex.quote(f'{root}{stage.directory}')}",
                f'exec chroot {root} sh -c \'cd "$0" && exec sh -c "$1"\' '
                f"{shlex.join([stage.directory, command])}",
            )
            _carry_out(script, {**passed_on, **stage.environment})

        self._layer(stage, f"RUN {command}", make)

    def _copy(self, stage: _Stage, rest: str) -> None:
        *sources, target = (part for part in rest.split() if not part.startswith("--"))
        into = len(sources) > 1 or target.endswith(("/", "."))
        place = PurePosixPath("/", stage.directory, target)
        if flag := next((part for part in rest.split() if part.startswith("--from=")), ""):
            self._copy_from(stage, self._stages[flag.removeprefix("--from=")], sources[0], place)
            return
        digests = [_digest_of(self._context / source) for source in sources]

        def make(draft: Path) -> None:
            for name in sources:
                source, there = self._context / name, Path(f"{draft}{place}")
                there = there / source.name if into and source.is_file() else there
                there.parent.mkdir(parents=True, exist_ok=True)
                if source.is_file():
                    shutil.copy2(source, there)
                else:
                    # Its content, as COPY does.
                    shutil.copytree(source, there, symlinks=True, ignore=_IGNORED, dirs_exist_ok=True)

        self._layer(stage, f"COPY {rest} {' '.join(digests)}", make)

    def _copy_from(self, stage: _Stage, other: _Stage, source: str, place: PurePosixPath) -> None:
        def make(draft: Path) -> None:
            root = draft.with_name(f"{draft.name}.root")
            there = f"{draft}{place}"
            script = (
                mounts.overlay(other.layers, root),
                shlex.join(["mkdir", "-p", str(Path(there).parent)]),
                shlex.join(["cp", "--archive", f"{root}{source}", there]),
            )
            _carry_out(script, dict(os.environ))

        self._layer(stage, f"COPY {source} {place} of {other.key}", make)

    # -- layers -------------------------------------------------------------------------------------

    def _layer(self, stage: _Stage, step: str, make: Callable[[Path], None]) -> None:
        """Puts the layer of a step on the stage; `make` fills a directory with it where there is none yet."""
        decides = json.dumps([stage.key, step, sorted(stage.environment.items()), stage.directory])
        stage.key = hashlib.sha256(decides.encode()).hexdigest()[:20]
        layer = self._store / stage.key
        if not layer.exists():
            self._tell(step if len(step) < 100 else f"{step[:97]}...")
            draft = self._store / f".{stage.key}"
            beside = [draft.with_name(f"{draft.name}.{name}") for name in ("root", "work")]
            for left in (draft, *beside):
                shutil.rmtree(left, ignore_errors=True)
            draft.mkdir()
            make(draft)
            for left in beside:
                shutil.rmtree(left, ignore_errors=True)
            draft.rename(layer)
        # That it was asked for.
        os.utime(layer)
        stage.layers.append(layer)

    def _forget_old(self) -> None:
        for layer in self._store.iterdir():
            if time.time() - layer.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(layer, ignore_errors=True)


def _carry_out(script: Iterable[str], environment: Mapping[str, str]) -> None:
    """Runs a script of sh in a mount namespace of its own. Raises SandboxError with what it printed."""
    whole = "\n".join(("set -eu", *script))
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", whole]
    run(command, timeout=patient(STEP_SECONDS), environment=environment)


def _digest_of(source: Path) -> str:
    """Changes with any name, content, mode or link below `source`, and with nothing else."""
    digest = hashlib.sha256()
    for path in sorted((source, *source.rglob("*"))):
        if path.suffix == ".pyc" or "__pycache__" in path.parts:
            continue
        is_link = path.is_symlink()
        content = str(path.readlink()).encode() if is_link else path.read_bytes() if path.is_file() else b""
        name = f"{path.relative_to(source)} {is_link} {path.lstat().st_mode:o} {len(content)}\n"
        digest.update(name.encode() + content)
    return digest.hexdigest()
