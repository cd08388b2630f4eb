"""The releases of a region with their dependencies, as data, Mermaid and SVG."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from controller.cli.views.pages.graph_layout import WIDTH, drawing
from controller.cli.views.pages.graph_svg import svg_text
from controller.cli.views.pages.mermaid import mermaid_text
from controller.cli.views.pages.release_graph import ReleaseGraph, graph_data, release_graph
from tests.cli.objects import bundle, region, release
from tests.cli.views.pages.regions import bundles, busy_region

SVG = "{http://www.w3.org/2000/svg}"


def graph(needs: dict[str, list[str]], **states: str) -> ReleaseGraph:
    entries = [release(name, states.get(name, "Deployed")) for name in needs]
    return release_graph(region(), [bundle("all", *entries, needs=needs)])


CHAIN = {"mariadb": [], "keystone": ["mariadb"], "nova": ["keystone", "mariadb"]}


def test_the_level_is_the_longest_chain_of_dependencies():
    assert [(one.release, one.level) for one in graph(CHAIN).nodes] == [
        ("mariadb", 0),
        ("keystone", 1),
        ("nova", 2),
    ]


def test_a_dependency_that_follows_from_others_is_known_but_not_drawn():
    found = graph(CHAIN)
    assert ("mariadb", "nova") in found.edges
    assert found.direct_edges() == (("mariadb", "keystone"), ("keystone", "nova"))


def test_a_circle_is_drawn_and_ends():
    found = graph({"a": ["b"], "b": ["a"], "c": ["c"]})
    assert set(found.direct_edges()) == {("b", "a"), ("a", "b"), ("c", "c")}
    ElementTree.fromstring(svg_text("r", found))


def test_a_dependency_that_no_bundle_has_is_missing():
    (missing,) = (one for one in graph({"nova": ["keystone"]}).nodes if one.state == "missing")
    assert missing.release == "keystone"
    assert "keystone (missing)" in mermaid_text(graph({"nova": ["keystone"]}))


def test_an_installed_release_with_a_sick_component_is_unhealthy():
    found = {one.release: one for one in release_graph(busy_region(), bundles()).nodes}
    assert (found["nova"].state, found["nova"].ready, found["nova"].components) == ("unhealthy", 1, 2)
    assert "CrashLoopBackOff" in found["nova"].message
    assert (found["neutron"].state, found["heat"].state) == ("installed", "failed")


def test_mermaid_has_each_release_in_its_service_and_each_line():
    text = mermaid_text(release_graph(busy_region(), bundles()))
    assert text.startswith("flowchart LR\n")
    assert text.count("subgraph ") == text.count("\n  end") == 12
    assert re.search(r'r\d+\["! heat \(failed\)"\]:::bad', text)
    names = dict(re.findall(r'(r\d+)\["\S+ ([\w-]+)', text))
    lines = {(names[one], names[other]) for one, other in re.findall(r"(r\d+) --> (r\d+)", text)}
    assert ("nova", "octavia") in lines and ("keystone", "nova") not in lines


def test_hostile_names_cannot_leave_their_label():
    name = 'a"]; click r0 "javascript:alert(1)" %%{init}%% <b>`#quot;\n\x1b[31m'
    text = mermaid_text(graph({name: []}))
    (line,) = (one for one in text.splitlines() if ":::" in one)
    assert re.fullmatch(r'\s+r0\["[^"<>`{}%\[\]\x1b]*"\]:::\w+', line)
    root = ElementTree.fromstring(svg_text(name, graph({f"{name}</text><script>": []})))
    assert not list(root.iter(f"{SVG}script"))


def boxes(text: str) -> list[tuple[float, float]]:
    places = re.findall(r'<g class="box \w+" transform="translate\((\d+) (\d+)\)">', text)
    return [(float(x), float(y)) for x, y in places]


def test_the_image_has_a_box_for_each_release_and_none_on_another():
    found = release_graph(busy_region(), bundles())
    text = svg_text("region-one", found)
    root = ElementTree.fromstring(text)
    places = boxes(text)
    assert len(places) == len(set(places)) == len(found.nodes)
    assert max(x for x, _ in places) + WIDTH <= float(root.attrib["width"])
    rows: dict[float, list[float]] = {}
    for x, y in places:
        rows.setdefault(x, []).append(y)
    assert all(b - a >= 44 for ys in rows.values() for a, b in zip(sorted(ys), sorted(ys)[1:], strict=False))


def test_the_image_says_in_words_what_it_shows():
    root = ElementTree.fromstring(svg_text("region-one", release_graph(busy_region(), bundles())))
    assert root.attrib["role"] == "img"
    assert root.findtext(f"{SVG}title") == "Releases of region-one and their dependencies"
    summary = root.findtext(f"{SVG}desc") or ""
    assert summary == "14 releases: 1 failed (heat), 1 unhealthy (nova), 1 waiting (octavia), 11 installed"
    titles = [one.findtext(f"{SVG}title") or "" for one in root.iter(f"{SVG}g")]
    assert any(one.startswith("octavia: waiting; needs keystone, neutron, nova") for one in titles)


def test_a_long_name_is_cut_in_its_box_and_whole_in_its_title():
    (box,) = drawing(graph({"a-release-with-a-very-long-name": []})).boxes
    assert box.name == "a-release-with-a-ver…"
    assert box.title.startswith("a-release-with-a-very-long-name: installed")


def test_the_graph_of_a_region_without_releases_is_empty():
    empty = release_graph(region(), [])
    assert graph_data(empty) == {"releases": []}
    ElementTree.fromstring(svg_text("r", empty))


def test_the_data_has_all_dependencies():
    data: dict[str, Any] = graph_data(graph(CHAIN))
    assert data["releases"][2]["dependsOn"] == ["keystone", "mariadb"]
