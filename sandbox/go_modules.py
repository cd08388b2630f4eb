"""Programs of Go modules: built once for given pins, kept in a cache, found there ever after.

The cache is keyed by everything that decides the result but the Go version. A build writes into a draft
directory and is published by one rename, so a half-made one is never found; Go's own cache makes the next
try continue where a killed one stopped.
"""

from __future__ import annotations

import collections
import errno
import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.builds import demand_builds
from sandbox.errors import BuildFailed, DiskFull
from sandbox.locks import locked
from sandbox.paths import cache_root, is_writable
from sandbox.processes import die_with_caller
from sandbox.toolchain import ensure_go

COMPLETE = "complete.json"
GIB = 1024**3
FRESH_GO_CACHE_BYTES = 5 * GIB
"""Room for a build from nothing: modules 0.9 GB, compiled packages 3.2 GB, links and result."""
WARM_GO_CACHE_BYTES = GIB
"""Room when the packages are compiled already: links and result."""
LOCK_SECONDS = 3600.0
_PINS = ("go.mod", "go.sum")


@dataclass(frozen=True)
class BuildProgress:
    """How far a build is. `total` is the most packages there can be, 0 while that is not known."""

    step: str
    done: int = 0
    total: int = 0
    seconds: float = 0.0


Report = Callable[[BuildProgress], None]


@dataclass(frozen=True)
class GoModule:
    """A module of ours that pins programs: those of its own sources, or others' that it requires.

    `name` is its place in the cache. `parts`: what else decides the result. `environment` is added to Go's.
    """

    name: str
    directory: Path
    packages: tuple[str, ...]
    linker_flags: str = "-s -w"
    tags: str = ""
    parts: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def digest(self) -> str:
        """Hex digest of what the build result depends on: module, sums, source, flags, platform."""
        digest = hashlib.sha256()
        pins = (self.directory / name for name in _PINS)
        for source in (*pins, *sorted(self.directory.glob("*.go"))):
            if source.exists():
                content = source.read_bytes()
                digest.update(f"{source.name} {len(content)}\n".encode() + content)
        tags = (self.tags,) if self.tags else ()
        for part in (
            self.linker_flags,
            *self.packages,
            *tags,
            *self.parts,
            platform.system(),
            platform.machine(),
        ):
            digest.update(part.encode() + b"\0")
        return digest.hexdigest()[:20]

    def cache_directory(self) -> Path:
        """The directory of the programs of the present pins; they are in `bin`."""
        return cache_root() / self.name / self.digest()


def is_complete(directory: Path) -> bool:
    """Whether each file has the size that the finished build noted."""
    try:
        sizes = json.loads((directory / COMPLETE).read_text())
        return all((directory / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, json.JSONDecodeError, AttributeError):
        return False


def ensure_module(
    module: GoModule, report: Report = lambda _: None, finish: Callable[[Go, Path], None] | None = None
) -> Path:
    """The directory with the module's programs, built first if the cache lacks them (with progress).

    `finish` adds to a draft what else belongs to it. Safe with other processes that do the same. Raises
    DiskFull or BuildFailed.
    """
    target = module.cache_directory()
    if is_complete(target):
        return target
    demand_builds(f"the programs in {target}")
    try:
        with locked(
            target.with_name(f".{target.name}.lock"),
            timeout=LOCK_SECONDS,
            on_wait=lambda: report(BuildProgress("waiting for another build of the same pins")),
        ):
            if not is_complete(target):
                _build(module, target, report, finish)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _disk_full(target, FRESH_GO_CACHE_BYTES) from error
    if not is_complete(target):
        raise BuildFailed(f"the build in {target} changed while it was published; run it again")
    return target


def _disk_full(place: Path, needed: int) -> DiskFull:
    free = shutil.disk_usage(_existing_parent(place)).free
    return DiskFull(
        f"the disk of {place} is too full: about {needed / GIB:.1f} GiB are needed and "
        f"{free / GIB:.1f} GiB are free. Free some, or set XDG_CACHE_HOME, XDG_STATE_HOME, GOCACHE, "
        "GOMODCACHE and TMPDIR to a larger disk; a build continues with what is compiled already."
    )


def _existing_parent(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def check_room(places: Sequence[tuple[Path, int]]) -> None:
    """Raises DiskFull where a file system lacks the bytes that the `places` on it ask for together."""
    wanted: dict[int, tuple[Path, int]] = {}
    for place, size in places:
        device = _existing_parent(place).stat().st_dev
        first, total = wanted.get(device, (place, 0))
        wanted[device] = (first, total + size)
    for place, size in wanted.values():
        if shutil.disk_usage(_existing_parent(place)).free < size:
            raise _disk_full(place, size)


def _caches() -> dict[str, str]:
    """Where Go keeps what it compiles and fetches; ours where the home directory cannot be written."""
    if is_writable(Path.home() / ".cache" / "go-build"):
        return {}
    own = {"GOCACHE": "build", "GOMODCACHE": "modules", "GOPATH": "path"}
    return {
        name: str(cache_root() / "go-caches" / place) for name, place in own.items() if name not in os.environ
    }


class Go:
    """The toolchain in the directory of a module, with an environment of our choice."""

    def __init__(self, command: Path, module: GoModule) -> None:
        self.command = command
        self._directory = module.directory
        self._environment = {
            **os.environ,
            "GOTOOLCHAIN": "local",
            "GOFLAGS": "-buildvcs=false -mod=readonly",
            "GOWORK": "off",
            "CGO_ENABLED": "0",
            **_caches(),
            **module.environment,
        }

    def output(self, *arguments: str) -> str:
        """What a short command prints. Raises BuildFailed with its error output."""
        answer = subprocess.run(
            [self.command, *arguments],
            cwd=self._directory,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if answer.returncode != 0:
            raise BuildFailed(f"go {arguments[0]} failed: {answer.stderr.strip()[-2000:]}")
        return answer.stdout

    def follow(self, arguments: Sequence[str], line: Callable[[str], None]) -> None:
        """Runs a long command, giving each line of its output to `line`; raises as `output` does."""
        last: collections.deque[str] = collections.deque(maxlen=30)
        with subprocess.Popen(
            [self.command, *arguments],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A Go that outlived us would write into a draft that the next build removes.
            preexec_fn=die_with_caller(),  # noqa: PLW1509
        ) as process:
            assert process.stdout is not None  # noqa: S101  (asked for above)
            try:
                for text in process.stdout:
                    last.append(text.rstrip())
                    line(text.rstrip())
            except BaseException:
                process.terminate()
                raise
        if process.returncode != 0:
            cause = "\n".join(last)
            if os.strerror(errno.ENOSPC).lower() in cause.lower():
                raise _disk_full(self._directory, FRESH_GO_CACHE_BYTES)
            raise BuildFailed(f"go {arguments[0]} failed:\n{cause}")


def _fetch_modules(go: Go, module: GoModule, report: Report, started: float) -> int:
    """Downloads what the build needs; gives the number of packages to compile at most."""
    fetched = 0
    packages = 0

    def line(text: str) -> None:
        nonlocal fetched, packages
        if text.startswith("go: downloading"):
            fetched += 1
            report(BuildProgress("fetching modules", fetched, 0, time.monotonic() - started))
        elif text and not text.startswith("go: "):
            packages += 1

    report(BuildProgress("fetching modules"))
    go.follow(["list", "-deps", *module.packages], line)
    return packages


def _compile(go: Go, module: GoModule, target: Path, total: int, report: Report) -> None:
    compiled = 0
    started = time.monotonic()

    def line(_: str) -> None:
        nonlocal compiled
        compiled += 1
        report(BuildProgress("compiling", compiled, total, time.monotonic() - started))

    report(BuildProgress("compiling", 0, total, time.monotonic() - started))
    tags = ["-tags", module.tags] if module.tags else []
    arguments = ["build", "-v", "-trimpath", *tags, "-ldflags", module.linker_flags]
    go.follow([*arguments, "-o", f"{target}/", *module.packages], line)


def _build(module: GoModule, target: Path, report: Report, finish: Callable[[Go, Path], None] | None) -> None:
    started = time.monotonic()
    command = ensure_go(
        module.directory / "go.mod", cache_root() / "go", lambda text: report(BuildProgress(text))
    )
    go = Go(command, module)
    caches = json.loads(go.output("env", "-json", "GOCACHE", "GOMODCACHE"))
    compiled = Path(caches["GOCACHE"])
    # A used Go cache holds all of the compiled packages, or most: only a near empty one is asked room for.
    fresh = not (compiled / "00").exists()
    check_room([(compiled, FRESH_GO_CACHE_BYTES if fresh else 0), (target, WARM_GO_CACHE_BYTES)])
    check_room([(Path(tempfile.gettempdir()), WARM_GO_CACHE_BYTES)])
    for leftover in target.parent.glob(f".{target.name}.draft-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    draft = target.with_name(f".{target.name}.draft-{os.getpid()}")
    draft.mkdir(parents=True)
    try:
        total = _fetch_modules(go, module, report, started)
        _compile(go, module, draft / "bin", total, report)
        if finish is not None:
            finish(go, draft)
        files = [path for path in draft.rglob("*") if path.is_file()]
        sizes = {str(path.relative_to(draft)): path.stat().st_size for path in files}
        (draft / COMPLETE).write_text(json.dumps(sizes))
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    report(BuildProgress("built", total, total, time.monotonic() - started))
