"""The exit codes are documented, and each error ends with its own."""

from __future__ import annotations

import re

import pytest

from controller.cli.exit_codes import MEANINGS, ExitCode, NoCluster, exit_code
from controller.cli.main import app
from controller.domain.values.catalogue import CatalogueInvalid
from controller.errors import (
    ApiUnavailable,
    ChartInvalid,
    CloudRefused,
    CloudUnavailable,
    Conflict,
    ControllerError,
    Forbidden,
    HelmFailed,
    ObjectMissing,
    ObjectRefused,
    SpecInvalid,
)
from tests.cli.objects import ROOT

DOCS = (ROOT / "docs" / "osctl.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SpecInvalid([]), ExitCode.INVALID),
        (ApiUnavailable("x"), ExitCode.UNREACHABLE),
        (NoCluster("x"), ExitCode.UNREACHABLE),
        (Forbidden("x"), ExitCode.REFUSED),
        (Conflict("x"), ExitCode.REFUSED),
        (ObjectMissing("x"), ExitCode.REFUSED),
        (ObjectRefused("x"), ExitCode.REFUSED),
        (CloudUnavailable("x"), ExitCode.SMOKE_FAILED),
        (CloudRefused("x"), ExitCode.SMOKE_FAILED),
        (ChartInvalid("x"), ExitCode.FAILED),
        (HelmFailed("x"), ExitCode.FAILED),
        (CatalogueInvalid("x"), ExitCode.FAILED),
        (ControllerError("x"), ExitCode.FAILED),
    ],
)
def test_each_error_has_its_code(error: ControllerError, code: ExitCode):
    assert exit_code(error) == code


def test_the_documentation_lists_every_code_as_the_help_does():
    table = dict(re.findall(r"^\| (\d+) \| (.+?) \|$", DOCS, re.MULTILINE))
    assert table == {str(code.value): meaning for code, meaning in MEANINGS.items()}
    assert set(MEANINGS) == set(ExitCode)


def test_the_documentation_names_every_command():
    commands = {command.callback.__name__ for command in app.registered_commands if command.callback}
    groups = {str(group.name) for group in app.registered_groups}
    assert commands | groups == set(re.findall(r"^\| `osctl (\w+)", DOCS, re.MULTILINE))
