"""The binaries of the control plane: one Go module, and KWOK's stage files that lie in its own; and Helm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sandbox.go_modules import (
    COMPLETE,
    GIB,
    BuildProgress,
    Go,
    GoModule,
    Report,
    check_room,
    ensure_module,
    is_complete,
)
from sandbox.helm import ensure_helm, find_helm
from sandbox.paths import SOURCE

__all__ = ["COMPLETE", "GIB", "Binaries", "BuildProgress", "Report", "check_room", "ensure_binaries"]

MODULE = SOURCE / "kubernetes"
PACKAGES = ("sandbox", "sigs.k8s.io/kwok/cmd/kwok")
VERSION = "k8s.io/component-base/version"
# Without the stamps kubectl refuses its own server's version.
LINKER_FLAGS = f"-s -w -X {VERSION}.gitVersion=v1.36.1 -X {VERSION}.gitMajor=1 -X {VERSION}.gitMinor=36"
STAGE_DIRECTORIES = ("node/fast", "node/heartbeat-with-lease", "pod/fast", "volume/fast")


@dataclass(frozen=True)
class Binaries:
    """The programs a sandbox runs, as absolute paths; `stages` holds KWOK's own stage files."""

    sandbox: Path
    kwok: Path
    helm: Path
    kubectl: Path
    stages: Path


def _module() -> GoModule:
    return GoModule("kubernetes", MODULE, PACKAGES, LINKER_FLAGS, parts=STAGE_DIRECTORIES)


def pins_digest() -> str:
    """Hex digest of what the build result depends on."""
    return _module().digest()


def cache_directory() -> Path:
    """The directory of the binaries of the present pins."""
    return _module().cache_directory()


def find_binaries() -> Binaries | None:
    """The built binaries of the present pins; None when they are missing or only half there."""
    directory = cache_directory()
    helm = find_helm()
    return _binaries_in(directory, helm) if helm and is_complete(directory) else None


def _binaries_in(directory: Path, helm: Path) -> Binaries:
    binary = directory / "bin"
    return Binaries(
        sandbox=binary / "sandbox",
        kwok=binary / "kwok",
        helm=helm,
        kubectl=binary / "kubectl",
        stages=directory / "stages",
    )


def ensure_binaries(report: Report = lambda _: None) -> Binaries:
    """The binaries, built first if the cache lacks them (minutes, with progress given to `report`).

    Safe with other processes that do the same. Raises DiskFull or BuildFailed.
    """
    return _binaries_in(ensure_module(_module(), report, _finish), ensure_helm(report))


def _finish(go: Go, draft: Path) -> None:
    _copy_stages(go, draft / "stages")
    (draft / "bin" / "kubectl").symlink_to("sandbox")


def _copy_stages(go: Go, target: Path) -> None:
    """KWOK's stage files, which lie in its module and without which it does nothing."""
    module = Path(go.output("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok").strip())
    target.mkdir(parents=True)
    for directory in STAGE_DIRECTORIES:
        for source in sorted((module / "kustomize" / "stage" / directory).glob("*.yaml")):
            if source.name in {"kustomization.yaml", "storage-class.yaml"}:
                continue
            copy = target / f"{directory.replace('/', '-')}-{source.name}"
            copy.write_bytes(source.read_bytes())
