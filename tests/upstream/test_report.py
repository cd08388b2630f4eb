"""The report of `make test-upstream`: what its tests have reported, as tables."""

from __future__ import annotations

from pathlib import Path

from tests.upstream.report import Results, text_of


def test_a_service_and_its_features_are_reported_by_how_far_they_came(tmp_path: Path) -> None:
    results = Results()
    rendered = {"name": "core", "series": "2026.1", "objects": {"identity": 62}}
    results.add("test_rendered.py::test_a_region[core]", "passed", [("region", rendered)])
    results.add("test_rendered.py::test_a_feature[logging]", "passed", [("feature", "logging")])
    results.add("test_references.py::test_nothing_is_missing[logging]", "passed", [])
    results.add("test_dry_run.py::test_every_object_is_taken[logging]", "failed", [])
    ready = {"name": "core", "services": ("identity",), "releases": 10, "seconds": 66}
    results.add("test_installed.py::test_it_becomes_ready[core]@installed", "passed", [("ready", ready)])

    text = text_of(results, tmp_path)

    assert "| core | yes, 62 objects |" in text
    assert "| identity | 62 | yes |" in text
    assert "| logging | yes | yes | **no** | yes |" in text  # of the region core
    assert "| core | yes | 10 | 66 |" in text
    assert "- `test_dry_run.py::test_every_object_is_taken[logging]`" in text


def test_what_was_not_run_has_no_table(tmp_path: Path) -> None:
    results = Results()
    results.add("test_references.py::test_nothing_is_missing[audit]", "passed", [])

    text = text_of(results, tmp_path)

    assert "| audit |  | yes |  |  |" in text
    assert "## Regions" not in text and "## Services" not in text
