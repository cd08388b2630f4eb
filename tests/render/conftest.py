"""How golden files are made again: `pytest tests/render --update-golden`, then read the diff."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.render.region import ROOT

GOLDEN = ROOT / "tests" / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files again")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """Compares a value with `tests/golden/<name>.yaml`."""

    def compare(name: str, value: Any) -> None:
        path = GOLDEN / f"{name}.yaml"
        text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no {path}: make it with --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return compare


class _Dumper(yaml.SafeDumper):
    """Writes no anchors: a reviewer reads values, not references."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
