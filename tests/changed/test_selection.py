"""What `make test-changed` runs for a change."""

from __future__ import annotations

import pytest

from tests.changed.selection import ALL, select_tests


@pytest.mark.slow
def test_a_module_has_the_tests_of_what_imports_it_by_any_way() -> None:
    found = select_tests(["controller/domain/values/merge.py"])
    assert "tests/domain/values/test_merge_properties.py" in found
    assert "tests/render/test_golden.py" in found
    assert not [path for path in found if path.startswith("tests/domain/maintenance")]


@pytest.mark.slow
def test_what_tests_share_has_the_tests_that_import_it() -> None:
    found = select_tests(["tests/chaos/world.py"])
    assert "tests/chaos/test_kills.py" in found
    assert "tests/domain/values/test_merge_properties.py" not in found


def test_a_test_has_itself() -> None:
    assert select_tests(["tests/render/test_sizes.py"]) == ("tests/render/test_sizes.py",)


@pytest.mark.slow
def test_a_file_of_a_chart_has_the_tests_that_read_charts() -> None:
    found = select_tests(["charts/nova/templates/deployment-api.yaml"])
    assert {"tests/charts/test_render.py", "tests/render/test_golden.py"} <= set(found)


@pytest.mark.slow
def test_a_golden_file_has_the_tests_that_read_it() -> None:
    # By the conftest of a directory: all of it.
    assert "tests/render" in select_tests(["tests/golden/presets/core.yaml"])


def test_a_conftest_has_all_tests_beside_it() -> None:
    assert "tests/contract" in select_tests(["tests/contract/conftest.py"])


def test_a_module_that_is_gone_says_nothing() -> None:
    assert select_tests(["controller/domain/values/no_more.py"]) == ()


def test_an_unknown_change_has_all_tests() -> None:
    for path in ("pyproject.toml", "tests/conftest.py", "unheard-of/new.txt"):
        assert select_tests([path, "tests/render/test_sizes.py"]) == ALL
