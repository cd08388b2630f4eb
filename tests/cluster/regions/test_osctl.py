"""osctl against a real API server and running controllers, as a person and as a script use it."""

from __future__ import annotations

import json
import os
import pty
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.cluster import Sandbox
from sandbox.patience import patient
from tests.cli.views.pages.html import Page
from tests.cluster.conftest import installed
from tests.cluster.region import (
    NAME,
    RELEASES_WITHOUT_NETWORK,
    ROOT,
    WITHOUT_NETWORK,
    Region,
    wait_until,
    within,
)

RELEASES = RELEASES_WITHOUT_NETWORK

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("osctl"), pytest.mark.timeout(1800)]

COMMAND = (sys.executable, "-P", "-m", "controller.cli.main")
# A Secret that Keystone's chart makes and keeps, and a key in it.
KEYS, KEY = "keystone-fernet-keys", "a2V5"
UTC_LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ .+")


@dataclass
class Osctl:
    """Runs osctl as administrator of the cluster."""

    region: Region

    def __call__(self, *arguments: str, input: Any = None) -> subprocess.CompletedProcess[str]:
        text = input if isinstance(input, str | None) else yaml.safe_dump(input)
        return subprocess.run(
            [*COMMAND, *arguments],
            input=text,
            check=False,
            capture_output=True,
            text=True,
            timeout=patient(900),
            env=self.environment(),
        )

    def manifest(self, **spec: Any) -> dict[str, Any]:
        """Five releases: what is asked here is the same of more."""
        return self.region.smaller(WITHOUT_NETWORK, **spec)

    def environment(self, **more: str) -> dict[str, str]:
        kubeconfig = str(self.region.sandbox.kubeconfig)
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "KUBECONFIG": kubeconfig, **more}

    def on_terminal(self, *arguments: str, **more: str) -> tuple[int, str]:
        """Exit code and all that a terminal of 120 columns was sent."""
        master, slave = pty.openpty()
        size = {"COLUMNS": "120", "LINES": "40", "TERM": "xterm-256color"}
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=self.environment(**size, **more),
        )
        os.close(slave)
        sent = b""
        try:
            while chunk := os.read(master, 65536):
                sent += chunk
        except OSError:
            pass  # how Linux says that the last one has left the terminal
        os.close(master)
        return process.wait(patient(60)), sent.decode()


@pytest.fixture(scope="module")
def osctl(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Osctl]:
    """A region of this module's own, installed and not applied."""
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    for region in installed(sandbox, namespace, tmp_path_factory.mktemp("osctl")):
        yield Osctl(region)
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


@pytest.fixture(scope="module")
def applied(osctl: Osctl) -> subprocess.CompletedProcess[str]:
    """What `osctl apply --wait` printed; the region is Ready from here on."""
    return osctl("apply", "-f", "-", "--wait", "--timeout", within(480), input=osctl.manifest())


def test_apply_waits_until_the_region_is_ready(osctl: Osctl, applied: subprocess.CompletedProcess[str]):
    assert applied.returncode == 0, applied.stdout + applied.stderr
    created, ready = applied.stdout.splitlines()
    assert created == f"OpenStackDeployment/{NAME} created (generation 1)"
    assert ready.startswith(f"{NAME}: Ready, 5 releases installed, in ")
    osctl.region.wait_ready()


def test_apply_without_a_terminal_shows_each_change_in_a_line_of_utc(
    applied: subprocess.CompletedProcess[str],
):
    valid, *lines = applied.stderr.splitlines()
    assert valid.startswith("valid: 1 object in 1 file")
    assert all(UTC_LINE.fullmatch(line) for line in lines), applied.stderr
    assert "\x1b" not in applied.stderr + applied.stdout
    reported = {match[1] for line in lines if (match := re.search(r"Z (\S+): installed", line))}
    # On a machine that stands still, between two passes or before the first.
    before = (match[1].split(", ") for line in lines if (match := re.search(r"installed before: (.+)", line)))
    assert reported.union(*before) == RELEASES


def test_status_shows_every_service_on_one_screen(osctl: Osctl, applied: object):
    osctl.region.wait_ready()
    screen = osctl("status", "-n", osctl.region.namespace)
    assert screen.returncode == 0
    lines = screen.stdout.splitlines()
    assert lines[0].startswith(f"{NAME}  2026.1  core/single  Applied  releases 5/5  Ready: True")
    assert len(lines) < 24
    for release in RELEASES:
        assert f"{release} ✓" in screen.stdout


def test_status_is_data_for_programs(osctl: Osctl, applied: object):
    osctl.region.wait_ready()
    view = json.loads(osctl("status", NAME, "-n", osctl.region.namespace, "-o", "json").stdout)
    assert view["ready"] is True
    assert {release["name"] for line in view["services"] for release in line["releases"]} == RELEASES


def test_the_report_is_a_page_of_the_running_region(osctl: Osctl, applied: object, tmp_path: Path):
    osctl.region.wait_ready()
    file = tmp_path / "region.html"
    written = osctl("report", NAME, "-n", osctl.region.namespace, "--to", str(file))
    assert written.returncode == 0, written.stderr
    page = Page(file.read_text(encoding="utf-8"))
    assert page.mistakes == []
    assert "Releases ✓ 5/5" in page.text
    assert all(f"{release}: installed" in page.text for release in RELEASES)


def test_the_graph_has_the_dependencies_of_the_running_region(osctl: Osctl, applied: object):
    data = json.loads(osctl("graph", NAME, "-n", osctl.region.namespace, "-o", "json").stdout)
    needs = {release["name"]: set(release["dependsOn"]) for release in data["releases"]}
    assert needs.keys() == RELEASES
    assert needs["keystone"] == {"mariadb", "rabbitmq", "memcached"}


def test_every_region_is_a_line(osctl: Osctl, applied: object):
    osctl.region.wait_ready()
    listed = json.loads(osctl("status", "-A", "-o", "json").stdout)
    (ours,) = (one for one in listed if one["namespace"] == osctl.region.namespace)
    assert (ours["name"], ours["ready"]) == (NAME, True)


def test_events_are_in_the_order_of_time_and_none_is_there_twice(osctl: Osctl, applied: object):
    found = json.loads(osctl("events", NAME, "-n", osctl.region.namespace, "-o", "json").stdout)
    assert [one["last"] for one in found] == sorted(one["last"] for one in found)
    said = [json.dumps([one["object"], one["reason"], one["message"]]) for one in found]
    assert said and len(said) == len(set(said))


def test_logs_of_a_release_are_asked_of_its_pods(osctl: Osctl, applied: object):
    osctl.region.wait_ready()
    printed = osctl("logs", "keystone", "-n", osctl.region.namespace, "--component", "api")
    # Pods of these nodes have no log: the server says so for each.
    assert "keystone-api-" in printed.stdout + printed.stderr
    none = osctl("logs", "kaystone", "-n", osctl.region.namespace)
    assert none.returncode == 6
    assert 'did you mean "keystone"?' in none.stderr


def test_applying_the_same_again_changes_nothing(osctl: Osctl, applied: object):
    before = osctl.region.revisions()
    again = osctl("apply", "-f", "-", "--wait", "--timeout", within(300), input=osctl.manifest())
    assert again.returncode == 0
    assert again.stdout.splitlines()[0] == f"OpenStackDeployment/{NAME} unchanged (generation 1)"
    assert osctl.region.revisions() == before


def test_diff_foretells_which_release_an_edit_touches(osctl: Osctl, applied: object):
    values = {"conf": {"memcached": {"max_connections": 4096}}}
    edited = osctl.manifest(services={"cache": {"memcached": {"values": values}}})
    found = osctl("diff", "-f", "-", "-o", "json", input=edited)
    assert found.returncode == 1, found.stderr
    foretold = {release["name"] for release in json.loads(found.stdout)["releases"]}
    before = osctl.region.revisions()
    assert osctl("apply", "-f", "-", "--wait", "--timeout", within(480), input=edited).returncode == 0
    after = osctl.region.revisions()
    assert foretold == {name for name in after if after[name] != before[name]} == {"memcached"}
    assert osctl("diff", "-f", "-", "--no-manifests", input=edited).returncode == 0


def test_a_terminal_gets_a_live_table(osctl: Osctl, applied: object):
    code, sent = osctl.on_terminal("wait", NAME, "-n", osctl.region.namespace, "--timeout", within(300))
    assert code == 0
    assert "RELEASE" in sent
    assert "keystone" in sent
    assert "\x1b[32m" in sent


def test_no_color_is_honoured_on_a_terminal(osctl: Osctl, applied: object):
    osctl.region.wait_ready()
    _, sent = osctl.on_terminal("status", "-n", osctl.region.namespace, NO_COLOR="1")
    assert "Ready: True" in sent
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", sent)


def test_a_mistake_that_only_the_cluster_sees_ends_the_wait_at_once(osctl: Osctl, applied: object):
    wrong = osctl.manifest(services={"image": {"glnace": {"values": {"a": 1}}}})
    found = osctl("apply", "-f", "-", "--no-validate", "--wait", "--timeout", within(480), input=wrong)
    assert found.returncode == 5, found.stdout + found.stderr
    assert "spec.services.image.glnace" in found.stdout
    screen = osctl("status", "-n", osctl.region.namespace).stdout
    assert "SpecInvalid" in screen.splitlines()[0]
    assert "spec.services.image.glnace" in screen.splitlines()[1]
    healed = osctl("apply", "-f", "-", "--wait", "--timeout", within(480), input=osctl.manifest())
    assert healed.returncode == 0, healed.stdout


def test_an_unknown_field_is_refused_by_the_server_by_name(osctl: Osctl, applied: object):
    found = osctl("apply", "-f", "-", "--no-validate", input=osctl.manifest(presset="core"))
    assert found.returncode == 6
    assert "presset" in found.stderr


def test_a_dead_controller_is_reported_when_the_time_is_up(osctl: Osctl, applied: object):
    osctl.region.controllers.kill("core")
    try:
        edited = osctl.manifest(volumes="Delete")  # touches bundles, and no release
        found = osctl("apply", "-f", "-", "--wait", "--timeout", "2s", input=edited)
        assert found.returncode == 4
        assert "the controller has not read the spec yet" in found.stdout
    finally:
        osctl.region.controllers.start("core")
    back = osctl("apply", "-f", "-", "--wait", "--timeout", within(480), input=osctl.manifest())
    assert back.returncode == 0, back.stdout


def test_a_missing_namespace_is_reported_with_the_command_that_makes_it(osctl: Osctl, applied: object):
    elsewhere = osctl.manifest()
    elsewhere["metadata"]["namespace"] = "no-such-namespace"
    found = osctl("apply", "-f", "-", input=elsewhere)
    assert found.returncode == 6
    assert "kubectl create namespace no-such-namespace" in found.stderr


def test_an_unknown_token_is_refused_in_one_line(osctl: Osctl, tmp_path: Path):
    region = osctl.region
    nobody = region.sandbox.service_account_kubeconfig(region.namespace, "default", tmp_path)
    found = osctl("status", "-n", region.namespace, "--kubeconfig", str(nobody))
    assert found.returncode == 6
    (line,) = found.stderr.splitlines()
    assert "forbidden" in line


@dataclass
class Deleted:
    """What there was before, and what `osctl wait --for deleted` said."""

    secrets: dict[str, str]
    claims: dict[str, str]
    waited: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def deleted(osctl: Osctl, applied: object) -> Deleted:
    """The region is gone from here on."""
    region = osctl.region
    region.wait_ready()
    # As its own Jobs do with pods that run.
    region.kubectl("patch", "secret", KEYS, "--type=merge", "-p", json.dumps({"data": {"0": KEY}}))
    before = region.secret_texts(), claim_uids(region)
    assert all(before)
    region.kubectl("delete", "osdpl", NAME, "--wait=false")
    waited = osctl("wait", NAME, "-n", region.namespace, "--for", "deleted", "--timeout", within(480))
    return Deleted(*before, waited)


def test_waiting_for_deletion_follows_the_releases_until_all_are_gone(osctl: Osctl, deleted: Deleted):
    found = deleted.waited
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.startswith(f"{NAME}: deleted, in ")
    assert_everything_is_gone(osctl.region)
    assert_uninstalled_against_the_order_of_need(osctl.region)


def test_a_region_that_was_deleted_comes_back_and_goes_for_good(osctl: Osctl, deleted: Deleted):
    """Volumes and credentials stay and are taken up again, unless the spec says that they go too."""
    region = osctl.region
    assert claim_uids(region) == deleted.claims
    assert region.secret_texts() == deleted.secrets

    region.apply(osctl.manifest(volumes="Delete"))
    region.wait_ready()
    assert region.secret_texts() == deleted.secrets
    assert claim_uids(region) == deleted.claims
    assert region.get("secret", KEYS)["data"] == {"0": KEY}

    region.kubectl("delete", "osdpl", NAME, "--timeout=500s")
    assert_everything_is_gone(region)
    wait_until(
        "volumes and credentials are gone",
        lambda: not region.claims() and not region.secret_texts() and not kept_keys(region),
        show=lambda: region.kubectl("get", "pvc,secrets"),
    )


def claim_uids(region: Region) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in region.get("pvc")["items"]}


def kept_keys(region: Region) -> list[str]:
    """Secrets that Keystone's chart keeps when its release goes."""
    names = (item["metadata"]["name"] for item in region.get("secrets")["items"])
    return [name for name in names if name.startswith("keystone-")]


def assert_everything_is_gone(region: Region) -> None:
    assert region.revisions() == {}
    assert region.get("hb")["items"] == []
    # What Helm has deleted goes when the garbage collector has been at what it owns.
    wait_until("nothing of it is left", lambda: not left(region), show=lambda: "\n".join(left(region)))


def left(region: Region) -> list[str]:
    return region.kubectl("get", "deploy,sts,ds,jobs,cm,svc,pdb", "-l", "application", "-o", "name").split()


def assert_uninstalled_against_the_order_of_need(region: Region) -> None:
    lines = region.controllers.log("helmbundle").splitlines()
    gone = [name for line in lines for name in RELEASES if f"release {name}: Uninstall succ" in line]
    assert set(gone) == RELEASES
    assert gone.index("glance") < gone.index("keystone") < gone.index("mariadb")
    assert gone.index("keystone") < gone.index("rabbitmq")
