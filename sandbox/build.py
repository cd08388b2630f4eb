"""The binaries of the control plane: built once for given pins, kept in a cache, found there ever after.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import BuildFailed, DiskFull
from sandbox.locks import locked
from sandbox.paths import SOURCE, cache_root
from sandbox.processes import die_with_caller
from sandbox.toolchain import ensure_go

MODULE = SOURCE / "kubernetes"
PACKAGES = ("sandbox", "sigs.k8s.io/kwok/cmd/kwok", "helm.sh/helm/v4/cmd/helm")
VERSION = "k8s.io/component-base/version"
# Without the stamps kubectl refuses its own server's version.
LINKER_FLAGS = f"-s -w -X {VERSION}.gitVersion=v1.36.1 -X {VERSION}.gitMajor=1 -X {VERSION}.gitMinor=36"
STAGE_DIRECTORIES = ("node/fast", "node/heartbeat-with-lease", "pod/fast", "volume/fast")
COMPLETE = "complete.json"

GIB = 1024**3
FRESH_GO_CACHE_BYTES = 5 * GIB
"""Room for a build from nothing: modules 0.9 GB, compiled packages 3.2 GB, links and result."""
WARM_GO_CACHE_BYTES = GIB
"""Room when the packages are compiled already: links and result."""
LOCK_SECONDS = 3600.0


@dataclass(frozen=True)
class BuildProgress:
    """How far a build is. `total` is the most packages there can be, 0 while that is not known."""

    step: str
    done: int = 0
    total: int = 0
    seconds: float = 0.0


Report = Callable[[BuildProgress], None]


@dataclass(frozen=True)
class Binaries:
    """The programs a sandbox runs, as absolute paths; `stages` holds KWOK's own stage files."""

    sandbox: Path
    kwok: Path
    helm: Path
    kubectl: Path
    stages: Path


def pins_digest() -> str:
    """Hex digest of what the build result depends on: module, sums, source, flags, platform."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", "main.go"):
        content = (MODULE / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    for part in (LINKER_FLAGS, *PACKAGES, *STAGE_DIRECTORIES, platform.system(), platform.machine()):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:20]


def cache_directory() -> Path:
    """Where the binaries of the present pins are, or will be."""
    return cache_root() / "kubernetes" / pins_digest()


def find_binaries() -> Binaries | None:
    """The built binaries of the present pins; None when they are missing or only half there."""
    return _binaries_in(cache_directory())


def _binaries_in(directory: Path) -> Binaries | None:
    """The binaries in `directory` when each has the size that the finished build noted."""
    try:
        sizes = json.loads((directory / COMPLETE).read_text())
        if any((directory / name).stat().st_size != size for name, size in sizes.items()):
            return None
    except (OSError, json.JSONDecodeError, AttributeError):
        return None
    binary = directory / "bin"
    return Binaries(
        sandbox=binary / "sandbox",
        kwok=binary / "kwok",
        helm=binary / "helm",
        kubectl=binary / "kubectl",
        stages=directory / "stages",
    )


def ensure_binaries(report: Report = lambda _: None) -> Binaries:
    """The binaries, built first if the cache lacks them (minutes, with progress given to `report`).

    Safe with other processes that do the same. Raises DiskFull or BuildFailed.
    """
    found = find_binaries()
    if found is not None:
        return found
    target = cache_directory()
    try:
        with locked(
            target.with_name(f".{target.name}.lock"),
            timeout=LOCK_SECONDS,
            on_wait=lambda: report(BuildProgress("waiting for another build of the same pins")),
        ):
            return _binaries_in(target) or _build(target, report)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _disk_full(target, FRESH_GO_CACHE_BYTES) from error


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


class _Go:
    """The toolchain in the directory of our module, with an environment of our choice."""

    def __init__(self, command: Path) -> None:
        self.command = command
        self.environment = {
            **os.environ,
            "GOTOOLCHAIN": "local",
            "GOFLAGS": "-buildvcs=false -mod=readonly",
            "GOWORK": "off",
            "CGO_ENABLED": "0",
        }

    def output(self, *arguments: str) -> str:
        """What a short command prints. Raises BuildFailed with its error output."""
        answer = subprocess.run(
            [self.command, *arguments],
            cwd=MODULE,
            env=self.environment,
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
            cwd=MODULE,
            env=self.environment,
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
                raise _disk_full(cache_directory(), FRESH_GO_CACHE_BYTES)
            raise BuildFailed(f"go {arguments[0]} failed:\n{cause}")


def _fetch_modules(go: _Go, report: Report, started: float) -> int:
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
    go.follow(["list", "-deps", *PACKAGES], line)
    return packages


def _compile(go: _Go, target: Path, total: int, report: Report, started: float) -> None:
    compiled = 0

    def line(_: str) -> None:
        nonlocal compiled
        compiled += 1
        report(BuildProgress("compiling", compiled, total, time.monotonic() - started))

    report(BuildProgress("compiling", 0, total, time.monotonic() - started))
    arguments = ["build", "-v", "-trimpath", "-ldflags", LINKER_FLAGS, "-o", f"{target}/", *PACKAGES]
    go.follow(arguments, line)


def _copy_stages(go: _Go, target: Path) -> None:
    """KWOK's stage files, which lie in its module and without which it does nothing."""
    module = Path(go.output("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok").strip())
    target.mkdir(parents=True)
    for directory in STAGE_DIRECTORIES:
        for source in sorted((module / "kustomize" / "stage" / directory).glob("*.yaml")):
            if source.name in {"kustomization.yaml", "storage-class.yaml"}:
                continue
            copy = target / f"{directory.replace('/', '-')}-{source.name}"
            copy.write_bytes(source.read_bytes())


def _build(target: Path, report: Report) -> Binaries:
    started = time.monotonic()
    go = _Go(ensure_go(MODULE / "go.mod", cache_root() / "go", lambda text: report(BuildProgress(text))))
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
        total = _fetch_modules(go, report, started)
        _compile(go, draft / "bin", total, report, started)
        _copy_stages(go, draft / "stages")
        (draft / "bin" / "kubectl").symlink_to("sandbox")
        files = [path for path in draft.rglob("*") if path.is_file()]
        sizes = {str(path.relative_to(draft)): path.stat().st_size for path in files}
        (draft / COMPLETE).write_text(json.dumps(sizes))
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    report(BuildProgress("built", total, total, time.monotonic() - started))
    binaries = _binaries_in(target)
    if binaries is None:
        raise BuildFailed(f"the build in {target} changed while it was published; run it again")
    return binaries
