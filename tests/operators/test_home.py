"""A container's user has no entry that tells of a home directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from containers.composition import ensure_home


@pytest.mark.parametrize("home", [None, ""])
def test_without_a_home_directory_a_container_has_one_that_can_be_written(
    monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    monkeypatch.setenv("HOME", home or "")
    if home is None:
        monkeypatch.delenv("HOME")
    ensure_home()
    assert os.access(Path.home(), os.W_OK)


def test_a_home_directory_that_is_given_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    ensure_home()
    assert Path.home() == tmp_path
