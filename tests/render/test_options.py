"""Every option that our values set is one that the packages of each OpenStack series define.

Services read past options that they do not know, silently. What packages define is recorded in
`tests/data/options.json` by `make options`, which installs them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from controller.domain.values.catalogue import UPSTREAM
from controller.render.region import Region
from tests.render.region import ROOT, core_spec, library, render
from tests.upstream.option_packages import SERIES, pins_digest
from tests.upstream.options_set import Option, feature_regions, options_set, whole_region
from tools.option_facts import FACTS, NOT_LISTED, UNKNOWN, every_option, fact, recorded_section

FOUND = json.loads(FACTS.read_text())
WRITTEN_FILES = ROOT / "tests" / "data" / "upstream-files.json"


def unknown_options(region: Region, *series: str) -> Iterator[str]:
    for option, _ in options_set(region):
        known = {one: fact(FOUND, option, one) for one in series}
        if None in known.values():
            yield f"{option}: nothing is recorded; run make options"
        elif UNKNOWN in known.values() and str(option) not in NOT_LISTED:
            yield f"{option}: unknown to {', '.join(one for one, word in known.items() if word == UNKNOWN)}"


@pytest.mark.slow
@pytest.mark.parametrize("series", SERIES)
def test_every_option_of_a_whole_region_is_known_to_its_series(series: str) -> None:
    assert sorted(set(unknown_options(whole_region(series), series))) == []


@pytest.mark.slow
def test_every_option_that_a_feature_sets_is_known_to_every_series() -> None:
    found = {name: sorted(set(unknown_options(region, *SERIES))) for name, region in feature_regions()}
    assert {name: options for name, options in found.items() if options} == {}


@pytest.mark.slow
def test_nothing_is_recorded_or_excused_that_no_value_sets() -> None:
    options = every_option()
    assert set(NOT_LISTED) - set(map(str, options)) == set()
    recorded = sum(
        len(names)
        for files in FOUND["options"].values()
        for sections in files.values()
        for names in sections.values()
    )
    assert recorded == len({(one.chart, one.file, recorded_section(one), one.name) for one in options})


@pytest.mark.parametrize("series", SERIES)
def test_the_facts_are_of_the_pinned_packages(series: str) -> None:
    assert FOUND["pins"][series] == pins_digest(series)


def test_an_option_that_no_package_has_is_found() -> None:
    spec = core_spec(
        services={"compute": {"nova": {"values": {"conf": {"nova": {"DEFAULT": {"cpu_ratio": 1}}}}}}}
    )
    found = list(unknown_options(render(spec | {"preset": "compute"}), "2026.1"))
    assert found == [
        f"{Option('nova', 'nova', 'DEFAULT', 'cpu_ratio')}: nothing is recorded; run make options"
    ]


@pytest.mark.parametrize("source", ["upstream", "embedded"])
def test_queues_of_services_are_quorum_queues(source: str) -> None:
    more = {} if source == "upstream" else {"charts": {}}
    region = render(core_spec(preset="core", **more))
    clients = [
        conf["oslo_messaging_rabbit"]
        for bundle in region.bundles
        for release in bundle.releases
        for conf in [(release.merged.values.get("conf") or {}).get(release.spec.chart.name) or {}]
        if "oslo_messaging_rabbit" in conf
    ]
    assert len(clients) >= 3
    for client in clients:
        assert client["rabbit_quorum_queue"] is True
        assert "rabbit_quorum_queues" not in client  # what oslo.messaging does not know


def test_the_entries_name_every_file_of_sections_that_charts_write() -> None:
    # Of a file that none names, secrets with a "$" and large numbers would be written as something else.
    known = library().catalogue.option_files.charts
    unnamed = {
        chart: sorted(
            set(written) - known[chart].options - set(known[chart].folders) - known[chart].sectioned
        )
        for chart, written in json.loads(WRITTEN_FILES.read_text()).items()
    }
    assert {chart: files for chart, files in unnamed.items() if files} == {}


def test_it_is_recorded_of_every_chart_which_files_it_writes() -> None:
    recorded = json.loads(WRITTEN_FILES.read_text())
    charts = [item for entry in library().catalogue.services.values() for item in entry.charts.items()]
    assert sorted(recorded) == sorted(name for name, chart in charts if UPSTREAM in chart.sources)
