"""osctl status: a list of regions, several contexts, and what changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller.cli.cluster import Cluster, context_names
from controller.cli.commands import status as command
from controller.errors import ApiUnavailable
from controller.ports.kubernetes import OSDPL, Resource
from tests.cli.commands.overview.conftest import create_with_status
from tests.cli.commands.overview.test_events_and_logs import Interrupting
from tests.cli.objects import condition, osctl, region
from tests.fakes.kube import FakeKube


class Silent(FakeKube):
    """A cluster that does not answer."""

    def list(self, resource: Resource, *more: object, **options: object):
        raise ApiUnavailable("the API server does not answer")


def of_namespace(namespace: str) -> dict[str, object]:
    found = region(condition("Ready", "True", "RegionReady"), state="Applied", progress="4/4")
    found["metadata"]["namespace"] = namespace
    return found


@pytest.fixture
def clusters(kube: FakeKube, monkeypatch: pytest.MonkeyPatch) -> dict[str, FakeKube]:
    found = {"": kube, "east": kube, "west": FakeKube(), "dead": Silent()}
    create_with_status(found["west"], of_namespace("openstack"))
    monkeypatch.setattr(command, "open_cluster", lambda _, context, space: Cluster(found[context], space))
    monkeypatch.setattr(command, "context_names", lambda _: ("east", "west"))
    return found


def test_all_namespaces_are_a_line_for_each_region(clusters: dict[str, FakeKube]):
    create_with_status(clusters["east"], of_namespace("second"))
    lines = osctl("status", "-A").stdout.splitlines()
    assert lines[0].split() == ["NAMESPACE", "NAME", "READY", "REASON", "VERSION", "STATE", "RELEASES", "AGE"]
    assert [line.split()[:4] for line in lines[1:]] == [
        ["openstack", "region-one", "False", "WorkloadsFailing"],
        ["second", "region-one", "True", "RegionReady"],
    ]


def test_regions_with_the_same_name_keep_their_own_releases(clusters: dict[str, FakeKube]):
    create_with_status(clusters["east"], of_namespace("second"))
    found = {one["namespace"]: one for one in json.loads(osctl("status", "-A", "-o", "json").stdout)}
    assert len(found["openstack"]["services"]) == 12
    assert found["second"]["services"] == []


def test_several_contexts_are_shown_beside_each_other(clusters: dict[str, FakeKube]):
    lines = osctl("status", "--context", "west", "--context", "east").stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["west", "openstack", "region-one"],
        ["east", "openstack", "region-one"],
    ]
    assert osctl("status", "--all-contexts").stdout.splitlines()[1].startswith("east")


def test_a_dead_cluster_does_not_hide_the_others(clusters: dict[str, FakeKube]):
    result = osctl("status", "--context", "dead", "--context", "west")
    assert result.exit_code == 7
    assert "the API server does not answer" in result.stdout
    assert "RegionReady" in result.stdout
    data = json.loads(osctl("status", "--context", "dead", "--context", "west", "-o", "json").stdout)
    assert data[0] == {"context": "dead", "error": "the API server does not answer"}


def test_one_context_is_still_one_screen(clusters: dict[str, FakeKube]):
    assert osctl("status", "--context", "west").stdout.startswith("region-one  2026.1")


@pytest.mark.parametrize(
    "options", [("region-one", "-A"), ("--all-contexts", "--context", "east"), ("--watch", "-o", "json")]
)
def test_what_contradicts_itself_is_refused(clusters: dict[str, FakeKube], options: tuple[str, ...]):
    assert osctl("status", *options).exit_code == 2


def test_watching_shows_the_screen_again_only_when_it_changes(
    clusters: dict[str, FakeKube], monkeypatch: pytest.MonkeyPatch
):
    kube = clusters["west"]

    def changed() -> None:
        found = kube.get(OSDPL, "region-one", "openstack")
        assert found is not None
        found["status"]["state"] = "Upgrading"
        kube.replace(found, subresource="status")

    monkeypatch.setattr(command.time, "sleep", Interrupting(lambda: None, changed, lambda: None))
    result = osctl("status", "--context", "west", "--watch")
    assert result.exit_code == 130
    screens = [line for line in result.stdout.splitlines() if line.startswith("region-one")]
    assert len(screens) == 2
    assert "Applied" in screens[0] and "Upgrading" in screens[1]
    assert "\x1b" not in result.stdout


def test_watching_goes_on_while_the_server_is_silent(
    clusters: dict[str, FakeKube], monkeypatch: pytest.MonkeyPatch
):
    kube = clusters["west"]
    found = kube.list
    silent = [False]

    def listed(*given: object, **more: object):
        if silent[0]:
            raise ApiUnavailable("the API server does not answer")
        return found(*given, **more)

    monkeypatch.setattr(kube, "list", listed)
    monkeypatch.setattr(
        command.time,
        "sleep",
        Interrupting(lambda: silent.__setitem__(0, True), lambda: None, lambda: silent.__setitem__(0, False)),
    )
    result = osctl("status", "--context", "west", "--watch")
    assert result.exit_code == 130
    assert result.stderr.count("asking again") == 1


def test_contexts_come_from_the_kubeconfig(tmp_path: Path):
    file = tmp_path / "config"
    named = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("b", "a")]
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    whole = {
        "current-context": "a",
        "contexts": named,
        "clusters": [cluster],
        "users": [{"name": "u", "user": {}}],
    }
    file.write_text(json.dumps(whole), encoding="utf-8")
    assert context_names(file) == ("a", "b")
