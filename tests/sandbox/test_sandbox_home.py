"""Where the sandbox keeps what it builds when the home directory cannot be written."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sandbox import paths
from sandbox.errors import SandboxError


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary directory, beside a HOME that cannot be written."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(paths, "is_writable", lambda path: not path.is_relative_to(tmp_path / "home"))
    monkeypatch.setattr(paths.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_a_directory_that_only_its_user_reads(temporary: Path) -> None:
    root = paths.cache_root()
    assert root.parent == temporary
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert paths.cache_root() == root


@pytest.mark.parametrize("how", ["a link", "open to others"])
def test_a_place_that_others_have_made_is_refused(temporary: Path, how: str) -> None:
    root = paths.cache_root()
    root.rmdir()
    if how == "a link":
        (temporary / "elsewhere").mkdir()
        root.symlink_to(temporary / "elsewhere")
    else:
        root.mkdir()
        root.chmod(0o777)
    with pytest.raises(SandboxError, match="set XDG_CACHE_HOME to a directory of your own"):
        paths.cache_root()


def test_a_home_that_can_be_written_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.cache_root() == tmp_path / ".cache" / "openstack-controller"
