"""The page of a region: what it shows, for whom, and what it never has."""

from __future__ import annotations

import base64
import hashlib
import re
from itertools import pairwise
from typing import Any

import pytest

from controller.cli.views.pages.report import html_text, report_of
from controller.cli.views.pages.report_data import report_data
from controller.cli.views.pages.templates import sheet
from tests.cli.objects import bundle, condition, region, release
from tests.cli.views.pages.html import Page
from tests.cli.views.pages.regions import NOW, bundles, busy_region, component, maintenance

HOSTILE = "</title></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}\x1b[31m\u202e"


def html_of(osdpl: dict[str, Any], *found: dict[str, Any], **more: Any) -> str:
    report = report_of(osdpl, found, more.pop("maintenances", []), now=NOW, osctl="0.1.0", **more)
    return html_text(report)


@pytest.fixture(scope="module")
def busy() -> Page:
    return Page(html_of(busy_region(), *bundles(), maintenances=[maintenance()]))


def part(page: Page, name: str) -> str:
    (found,) = (one for one in page.all("section") if one.attributes["id"] == name)
    return " ".join(found.text.split())


def test_the_page_is_well_formed_and_its_links_lead_somewhere(busy: Page):
    assert busy.mistakes == []
    ids = [one.attributes["id"] for one in busy.elements if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    links = [one.attributes["href"] for one in busy.all("a")]
    assert len(links) > 12
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_the_page_of_a_region_without_status_is_well_formed():
    page = Page(html_of(region(observed=0)))
    assert page.mistakes == []
    assert "No service has a HelmBundle yet" in page.text


def test_the_cause_and_the_field_that_set_it_come_first(busy: Page):
    text = busy.text
    assert text.index("Not ready: WorkloadsFailing") < text.index("heat: hook Job heat-db-sync failed")
    assert (
        text.index("filter_scheduler.enabled_filters")
        < text.index("Releases ! 12")
        < text.index("Service Version")
    )


def test_the_figures_at_the_head(busy: Page):
    (tiles,) = (one for one in busy.all("ul") if one.attributes.get("class") == "tiles")
    text = " ".join(tiles.text.split())
    assert "Releases ! 12/14 failed: heat" in text
    assert "Components ready ! 12/14 unhealthy: nova-scheduler" in text
    assert "Nodes ready ! 6/8 not ready: cmp8" in text
    assert "Next certificate ends ! in 22 h 30 m horizon-public" in text
    assert "Oldest credential ▲ 119 d compute-credentials: rotation: Rolling" in text
    assert "Upgrade … 1/3" in text
    assert "Backups ! in trouble Last: failed 2026-03-01 02:10:00" in text


def test_health_is_a_tree_whose_sick_parts_are_open(busy: Page):
    trees = [one for one in busy.all("details") if "open" in one.attributes]
    assert any("nova-scheduler" in one.text and "CrashLoopBackOff" in one.text for one in trees)
    closed = [one for one in busy.all("details") if "open" not in one.attributes]
    assert any("keystone-api" in one.text for one in closed)


def test_nodes_and_maintenances_show_what_is_not_ready_first(busy: Page):
    text = part(busy, "nodes")
    assert "cmp7 Migrate … Moving 12/30 2026-03-01 09:00:00 30 m ago 18 servers are left; vm-23: vGPU" in text
    assert text.index("cmp8 ! NotReady") < text.index("cmp7 … Cordoned") < text.index("cmp1 ✓ Ready")
    assert "Hosts in OpenStack without a node: old-host" in text


def test_certificates_go_by_their_end_and_credentials_by_age(busy: Page):
    text = part(busy, "certificates")
    assert text.index("horizon-public") < text.index("keystone-public")
    assert "! ends soon" in text
    text = part(busy, "credentials")
    assert text.index("identity-credentials 2025-11-02") < text.index("compute-credentials 2026-02-20")
    assert "release nova does not use it yet" in text


def test_a_certificate_that_has_ended_says_so():
    secrets = {"tls": {"expires": "2026-02-28T09:30:00Z"}}
    page = Page(html_of(region(secrets=secrets)))
    assert "tls 2026-02-28 09:30:00 24 h ago" in part(page, "certificates")
    assert "! ended" in part(page, "certificates")


def test_the_newest_action_is_first_and_an_error_is_shown(busy: Page):
    text = part(busy, "actions")
    assert text.index("horizon 2026-03-01 08:10:00") < text.index("heat 2026-03-01 08:09:00")
    assert "! Failed (3 in a row) 40.2s hook Job heat-db-sync failed" in text


def test_the_upgrade_and_the_backups(busy: Page):
    text = part(busy, "upgrade")
    assert "2025.2 → 2026.1, 1 of 3 steps done: image running" in text
    assert "identity ControlPlane ✓ Done 4 m" in text
    text = part(busy, "backups")
    assert "✓ Last good: b-41" in text
    assert "! Last: failed 2026-03-01 02:10:00 (7 h 20 m ago): no space left" in text
    assert "(late)" in text


def test_a_region_without_backups_says_so():
    assert "does not make backups" in part(Page(html_of(region())), "backups")


def test_a_backup_that_no_drill_has_restored_is_no_success():
    page = Page(html_of(region(backup={"lastGood": {"id": "b-1", "ended": "2026-03-01T02:10:00Z"}})))
    assert "▲ Restored as a drill: not yet: no backup is proven" in part(page, "backups")


def test_maintenances_that_may_not_be_read_are_not_shown_as_none():
    nodes = {"cmp1": {"state": "Ready"}}
    page = Page(html_of(region(nodes=nodes), maintenances=None, unread="forbidden: list"))
    assert "Maintenances are not shown: forbidden: list" in part(page, "nodes")


def hostile_region() -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """Each text of the status is hostile, also the names that are keys of maps."""
    found, busy_bundles, moved = busy_region(), bundles(), maintenance()
    times = re.compile(r"^\d{4}-\d\d-\d\dT[\d:]+Z$")

    def poisoned(value: Any, at: str = "") -> Any:
        if isinstance(value, dict):
            words = at in ("health", "nodes", "secrets", "services", "in health")
            inner = "in health" if at == "health" else ""
            return {
                (f"{HOSTILE}{key}" if words else key): poisoned(item, inner or key)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [poisoned(item, at) for item in value]
        kept = at in ("state", "phase", "status", "type", "reason", "result", "progress")
        return value if not isinstance(value, str) or times.match(value) or kept else f"{value}{HOSTILE}"

    found["status"] = poisoned(found["status"])
    found["metadata"]["name"] = HOSTILE
    for one in busy_bundles:
        one["status"]["releases"] = poisoned(one["status"]["releases"])
        for wanted in one["spec"]["releases"]:
            wanted["name"] += HOSTILE
            wanted["dependsOn"] = [f"{need}{HOSTILE}" for need in wanted["dependsOn"]]
    moved["status"], moved["metadata"]["name"] = poisoned(moved["status"]), HOSTILE
    return found, busy_bundles, moved


def test_hostile_texts_stay_texts():
    found, busy_bundles, moved = hostile_region()
    text = html_of(found, *busy_bundles, maintenances=[moved])
    page = Page(text)
    assert page.mistakes == []
    assert page.all("script") == page.all("img") == []
    assert not [name for one in page.elements for name in one.attributes if name.startswith("on")]
    assert page.text.count("<script>alert(1)</script>") > 60  # as a text
    assert "{{ 7*7 }}" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_nothing_is_loaded_and_nothing_may_be(busy: Page):
    text = html_of(busy_region(), *bundles())
    assert not re.search(r"(?:src|href|action|url\()\s*=?\s*[\"']?(?:https?:|//|data:)", text)
    assert busy.all("script") == busy.all("link") == busy.all("iframe") == busy.all("form") == []
    (policy,) = (one.attributes["content"] for one in busy.all("meta") if "http-equiv" in one.attributes)
    (style,) = busy.all("style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert not [one for one in busy.elements if "style" in one.attributes]


def test_no_secret_and_no_value_of_the_spec_gets_onto_the_page():
    found = busy_region()
    planted = {
        name: f"planted-{name}" for name in ("digest", "record", "value", "annotation", "before", "bundle")
    }
    entry = found["status"]["secrets"]["compute-credentials"]
    entry["digest"], entry["rotation"]["record"] = planted["digest"], planted["record"]
    found["spec"]["services"]["compute"]["nova"]["values"]["conf"]["password"] = planted["value"]
    found["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied": planted["annotation"]}
    changes = [{"path": "conf.x", "before": planted["before"], "after": "y"}]
    found["status"]["plan"] = {"releases": [{"name": "nova", "action": "Upgrade", "changes": changes}]}
    all_bundles = bundles()
    all_bundles[0]["spec"]["releases"][0]["values"] = {"password": planted["bundle"]}
    report = report_of(found, all_bundles, [maintenance()], now=NOW, osctl="0.1.0")
    text = html_text(report) + str(report_data(report))
    assert [name for name, secret in planted.items() if secret in text] == []


def test_a_screen_reader_finds_titles_tables_and_states_in_words(busy: Page):
    assert busy.all("html")[0].attributes["lang"] == "en"
    assert next(one.attributes.get("href") for one in busy.all("a")) == "#content"  # skips the navigation
    levels = [int(one.tag[1]) for one in busy.elements if re.fullmatch("h[1-6]", one.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    tables = busy.all("table")
    assert len(tables) > 8
    assert len(busy.all("caption")) == len(tables)
    # The roles hold where a narrow screen shows each row as a card.
    roles = {"table": "table", "tr": "row", "td": "cell"}
    for one in busy.elements:
        assert one.attributes.get("role") == roles.get(one.tag, one.attributes.get("role")), one
    heads = [one for one in busy.all("th") if "tbody" in one.inside]
    assert heads and all(one.attributes["scope"] == "row" for one in heads)
    assert all(one.attributes["aria-labelledby"] for one in busy.all("section"))
    signs = [one for one in busy.all("span") if one.attributes.get("class") == "sign"]
    assert signs and all(one.attributes["aria-hidden"] == "true" for one in signs)


def test_each_cell_has_its_title_for_a_narrow_screen(busy: Page):
    assert all(one.attributes.get("data-title") for one in busy.all("td"))
    (viewport,) = (one for one in busy.all("meta") if one.attributes.get("name") == "viewport")
    assert viewport.attributes["content"] == "width=device-width, initial-scale=1"


def luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_are_legible_on_every_ground(scheme: int):
    blocks = re.findall(r":root \{(.*?)\}", sheet("colours.css"), re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", blocks[scheme]))
    assert len(colours) == 15
    pairs = {(name, ground) for name in ("text", "quiet", "link") for ground in ("ground", "card")}
    pairs |= {(name, "card") for name in ("good", "busy", "bad", "warn")}
    pairs |= {(name, f"{name}-ground") for name in ("good", "busy", "bad", "warn")}
    pairs |= {("text", f"{name}-ground") for name in ("bad", "warn")}
    faint = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: found for pair, found in faint.items() if found < 4.5} == {}


def test_a_thousand_nodes_make_a_page_of_bounded_size():
    node = busy_region()["status"]["nodes"]["cmp1"]
    nodes = {f"cmp{number}": node for number in range(1000)}
    text = html_of(region(nodes=nodes, health={"nova": {"api": component("Ready", 1, 1)}}))
    assert len(text) < 1_500_000
    assert "1000 nodes without a note" in text


def test_the_same_objects_make_the_same_page():
    assert html_of(busy_region(), *bundles()) == html_of(busy_region(), *reversed(bundles()))


def test_the_data_has_the_lines_of_the_page():
    report = report_of(busy_region(), bundles(), [maintenance()], now=NOW, osctl="0.1.0")
    data = report_data(report)
    assert data["region"]["reason"] == "WorkloadsFailing"
    assert data["hostsWithoutNode"] == ["old-host"]
    assert data["certificates"][0]["ends"] == {"time": "2026-03-02 08:00:00", "distance": "in 22 h 30 m"}


def test_an_action_that_runs_is_no_error():
    running = release("nova", "Upgrading", lastAttempt={"time": "2026-03-01T09:29:00Z", "action": "Upgrade"})
    page = Page(html_of(region(condition("Ready", "False", "Applying")), bundle("compute", running)))
    assert "nova 2026-03-01 09:29:00 1 m ago Upgrade … Running" in part(page, "actions")
