"""Files that OpenStack-Helm's charts make of our values are files that OpenStack reads, in each series.

Ours is what a rendering of the chart's own values does not show: what is upstream's is recorded
(tests/data/upstream-options.json).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from tests.upstream.option_packages import PACKAGES, SERIES, ask, load
from tests.upstream.options_set import Option, feature_regions, like, options_set, whole_region
from tests.upstream.regions import charts_given
from tests.upstream.rendered_files import (
    PASTE,
    POLICY,
    REGIONS,
    UWSGI,
    bare_files,
    files,
    named,
    option_files,
)
from tools.option_facts import NOT_LISTED
from tools.upstream_options import recorded_of, told

pytestmark = [
    pytest.mark.upstream,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(charts_given() is None, reason="CHARTS names no directory of charts"),
]
# What stops a service, or is not what was meant; what is renamed or to be removed works.
WRONG = ("unknown", "invalid", "unreadable")


def asked(chart: str, text: str) -> dict[str, Any]:
    sections = re.findall(r"^\[(.+)\]$", text, re.MULTILINE)
    file = "backends" if chart == "cinder" and "volume_backend_name" in text else chart
    return {"text": text, "like": {section: like(chart, file, section) for section in sections}}


@pytest.mark.parametrize("chart", sorted(PACKAGES))
@pytest.mark.parametrize("series", SERIES)
def test_no_option_of_ours_is_unknown_or_of_a_wrong_type(
    series: str, chart: str, record_property: pytest.RecordProperty
) -> None:
    bare = {f"bare/{name}": asked(chart, text) for name, text in option_files(bare_files()[chart]).items()}
    ours = {
        f"{region}/{name}": asked(chart, text)
        for region in REGIONS
        for name, text in option_files(files(series, region).get(chart, {})).items()
    }
    assert ours
    answer = ask(series, chart, files={**bare, **ours}, validator=True)
    count = sum(answer["files"][name]["count"] for name in ours)
    record_property("options", {"chart": chart, "series": series, "count": count})
    upstreams = {
        identity(one) for name in bare for one in answer["files"][name]["found"] if one["kind"] in WRONG
    }
    found = {
        name: [f"{one['kind']}: [{one['section']}] {one['option']} {one.get('why', '')}" for one in mine]
        for name in ours
        if (mine := [one for one in answer["files"][name]["found"] if is_ours(chart, one, upstreams)])
    }
    assert found == {}
    assert {told(*one) for one in upstreams} == recorded_of(series, chart), "run make options"
    # oslo-config-validator itself, which does not look at types and knows no plug-ins of authentication.
    theirs = {line for name in bare for line in answer["validator"][name]}
    new = {line for name in ours for line in answer["validator"][name]} - theirs
    assert {line for line in new if not excused(chart, line)} == set()


def bare_findings(series: str, chart: str) -> set[str]:
    """What is wrong in the files of the chart's own values."""
    bare = {name: asked(chart, text) for name, text in option_files(bare_files()[chart]).items()}
    answer = ask(series, chart, files=bare)["files"]
    return {told(*identity(one)) for name in bare for one in answer[name]["found"] if one["kind"] in WRONG}


def identity(one: Mapping[str, str]) -> tuple[str, str, str]:
    return one["kind"], one["section"], one["option"]


def is_ours(chart: str, one: Mapping[str, str], upstreams: set[tuple[str, str, str]]) -> bool:
    excuse = Option(chart, chart, one["section"], one["option"])
    return one["kind"] in WRONG and identity(one) not in upstreams and str(excuse) not in NOT_LISTED


def excused(chart: str, line: str) -> bool:
    """Lines of the validator on what packages register and do not list, and on sections that people name."""
    section, _, option = line.partition(" ")[0].partition("/")
    known = str(Option(chart, chart, section, option)) in NOT_LISTED
    return known or bool(like(chart, chart, section)) or section == "fast"


@pytest.mark.parametrize("series", SERIES)
def test_no_value_that_a_feature_sets_is_of_a_wrong_type(series: str) -> None:
    values: defaultdict[str, defaultdict[tuple[str, str, str], set[tuple[str, ...]]]]
    values = defaultdict(lambda: defaultdict(set))
    for _, region in (("everything", whole_region(series)), *feature_regions()):
        for option, texts in options_set(region):
            values[option.chart][option.file, option.section, option.name].add(texts)
    wrong = {}
    for chart, options in values.items():
        if chart not in PACKAGES:
            continue
        answer = ask(series, chart, files=synthetic(chart, options))["files"]
        found = {
            str(identity(one))
            for file in answer.values()
            for one in file["found"]
            if one["kind"] == "invalid"
        }
        if found:
            wrong[chart] = sorted(found)
    assert wrong == {}


def synthetic(chart: str, options: Mapping[tuple[str, str, str], set[tuple[str, ...]]]) -> dict[str, Any]:
    """Files with every value of every option: the n-th has the n-th value of each."""
    asked_files: dict[str, Any] = {}
    for n in range(max(map(len, options.values()))):
        for (file, section, name), values in options.items():
            if n < len(values):
                one = asked_files.setdefault(f"{file}-{n}", {"text": "", "like": {}})
                lines = "".join(f"{name} = {text}\n" for text in sorted(values)[n])
                one["text"] += f"[{section}]\n{lines}"
                one["like"][section] = like(chart, file, section)
    return asked_files


@pytest.mark.parametrize("series", SERIES)
def test_policies_load_beside_the_rules_that_services_register(series: str) -> None:
    rules = Counter[str]()
    for chart in PACKAGES:
        for _, text in named(files(series, "ovs").get(chart, {}), POLICY):
            rules[chart] = load(series, chart, "policies", text=text)["registered"]
    assert {
        chart for chart in ("keystone", "nova", "neutron", "cinder", "glance") if rules[chart] < 20
    } == set()


@pytest.mark.parametrize("series", SERIES)
def test_paste_files_name_what_the_packages_have(series: str) -> None:
    for chart in PACKAGES:
        theirs = {text for _, text in named(bare_files()[chart], PASTE)}
        for name, text in named(files(series, "ovs").get(chart, {}), PASTE):
            answer = load(series, chart, "paste", text=text)
            assert answer["sections"]
            # What the chart's own values show as well is upstream's: filters of pipelines that no one uses.
            print(f"{series} {name}: {answer['missing']}")
            assert text in theirs or not answer["missing"]


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("chart", sorted(PACKAGES))
def test_uwsgi_files_load_what_the_packages_have_at_a_socket_for_all_addresses(
    series: str, chart: str
) -> None:
    for name, text in named(files(series, "ovs").get(chart, {}), UWSGI):
        answer = load(series, chart, "uwsgi", text=text)
        options = answer["options"]
        assert answer["missing"] == [], name
        assert options["http-socket"].startswith("0.0.0.0:"), name
        assert int(options.get("processes", options.get("workers", 1))) >= 1, name


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("chart", ["nova", "neutron", "cinder", "heat", "keystone", "octavia"])
def test_oslo_messaging_declares_quorum_queues(series: str, chart: str) -> None:
    (text,) = [
        text for name, text in files(series, "ovs")[chart].items() if name == f"{chart}-etc/{chart}.conf"
    ]
    answer = load(series, chart, "queues", files={"service.conf": text})
    assert answer["topic"] == {"x-queue-type": "quorum"}
    assert answer["transient"] == {"x-queue-type": "quorum"}
    assert len(answer["brokers"]) == 3


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("chart", ["nova", "cinder"])
def test_castellan_asks_barbican_inside(series: str, chart: str) -> None:
    text = files(series, "ovs")[chart][f"{chart}-etc/{chart}.conf"]
    answer = load(series, chart, "key_manager", files={"service.conf": text})
    assert answer == {"class": "BarbicanKeyManager", "endpoint": "internal"}


@pytest.mark.parametrize("series", SERIES)
def test_octavias_workers_run_their_flows_themselves(series: str) -> None:
    text = files(series, "ovs")["octavia"]["octavia-etc/octavia.conf"]
    answer = load(series, "octavia", "task_flow", files={"octavia.conf": text})
    assert answer["engine"] == "BaseTaskFlowEngine"
    assert set(answer["clients"].values()) == {"internalURL"}
    assert answer["neutron"] == ["internal"]


@pytest.mark.parametrize("series", SERIES)
def test_cinder_locks_in_the_database(series: str) -> None:
    found = files(series, "ovs")["cinder"]
    names = ("cinder-etc/cinder.conf", "cinder-coordination/coordination.conf")
    answer = load(series, "cinder", "locks", files={name.replace("/", "-"): found[name] for name in names})
    assert answer["driver"] == "MySQLDriver"
    assert answer["database"] == "/cinder"
    # The account that is in use, whichever it is by now.
    assert answer["user"].startswith("cinder")
    assert f"//{answer['user']}:{answer['password']}@" in found["cinder-etc/cinder.conf"]


@pytest.mark.parametrize("series", SERIES)
def test_a_dollar_sign_that_is_doubled_is_read_as_one(series: str) -> None:
    file = "[neutron]\nmetadata_proxy_shared_secret = pa$$w$$ord$$$$\n"
    wanted = [["neutron", "metadata_proxy_shared_secret"]]
    assert load(series, "nova", "options", files={"nova.conf": file}, options=wanted) == ["pa$w$ord$$"]
