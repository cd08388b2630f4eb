"""Octavia's own code with the certificates that a region makes: it signs those of amphorae, and each side
knows the other by mutual TLS, before, while and after an authority changes, without a restart.

The worker, its client and the agent's server are those of each series' package; files are mounted where the
charts' pods mount them, and options are those that the charts write.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.domain.api.names import (
    AMPHORA_SECRET,
    AMPHORAE_TRUST_ANNOTATION,
    CLIENT_AUTHORITY_SECRET,
)
from controller.domain.credentials.amphora_certificates import AMPHORA_AUTHORITY_LIFE
from controller.domain.credentials.certificate_lifetimes import DAY
from controller.ports.kubernetes import SECRET
from tests.reconcile.credentials.test_amphora_certificates import NS, Bed
from tests.render.specs import brought
from tests.upstream.option_packages import SERIES, run_program
from tests.upstream.regions import charts_given, objects, region
from tests.upstream.rendered_files import files

pytestmark = [
    pytest.mark.upstream,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(charts_given() is None, reason="CHARTS names no directory of charts"),
]
PLACE = "/etc/octavia/"
PODS = {
    "octavia-worker": "DaemonSet",
    "octavia-health-manager": "DaemonSet",
    "octavia-housekeeping": "Deployment",
}
SPEC = {
    "preset": "core",
    "features": {"services": {"enabled": ["load-balancer"]}},
    **brought("load-balancer"),
}
ANSWER = {"api_version": "1.0"}
OPTIONS = (
    ("certificates", "ca_certificate"),
    ("certificates", "ca_private_key"),
    ("haproxy_amphora", "server_ca"),
    ("haproxy_amphora", "client_cert"),
    ("controller_worker", "client_ca"),
)


def mounted(charts: Path, pods: str) -> dict[str, str]:
    """By path below /etc/octavia: the key of the Secret that a pod finds there."""
    release = region(charts, SPEC).release("octavia")
    assert release
    [workload] = [
        obj
        for obj in objects(release)
        if obj["metadata"]["name"].startswith(pods) and obj["kind"] == PODS[pods]
    ]
    pod = workload["spec"]["template"]["spec"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    found = {}
    for mount in pod["containers"][0]["volumeMounts"]:
        volume = volumes[mount["name"]]
        parts = [volume, *(volume.get("projected") or {}).get("sources", ())]
        for source in (part["secret"] for part in parts if "secret" in part):
            if AMPHORA_SECRET in (source.get("secretName"), source.get("name")):
                assert "subPath" not in mount
                below = mount["mountPath"].removeprefix(PLACE).rstrip("/")
                found |= {f"{below}/{item['path']}": item["key"] for item in source["items"]}
    return found


def conf(series: str) -> str:
    return files(series, "ovs")["octavia"]["octavia-etc/octavia.conf"]


@pytest.mark.parametrize("pods", PODS)
def test_each_file_that_octavia_reads_is_mounted_where_it_reads_it(charts: Path, pods: str) -> None:
    found = mounted(charts, pods)
    options = _options(conf("2026.1"))
    wanted = {options[option].removeprefix(PLACE) for option in OPTIONS}
    assert wanted | {"octavia.conf.d/passphrase.conf"} == found.keys()
    assert found[options["haproxy_amphora", "server_ca"].removeprefix(PLACE)] == "server_ca-chain.cert.pem"


def test_so_it_is_with_the_charts_of_the_previous_builds(previous: Path) -> None:
    for pods in PODS:
        assert len(mounted(previous, pods)) == len(OPTIONS) + 1


def _options(text: str) -> dict[tuple[str, str], str]:
    found, section = {}, ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif "=" in line:
            name, _, value = line.partition("=")
            found[section, name.strip()] = value.strip()
    return found


class Region(Bed):
    """One that was made so many days ago, whose steps a worker follows."""

    def __init__(self, charts: Path, days: float) -> None:
        super().__init__()
        self.places = mounted(charts, "octavia-worker")
        self.clock.advance(time.time() - days * DAY - self.clock.now())
        self.reconcile()
        self.steps: list[list[Any]] = []

    def mount(self, **more: str) -> None:
        """The worker has what the Secret has now, except `more`."""
        texts: Mapping[str, str] = {**self.texts(AMPHORA_SECRET), **more}
        self.steps.append(["mount", {path: texts[key] for path, key in self.places.items()}])

    def boot(self, *names: str) -> None:
        self.steps += [["boot", name] for name in names]

    def call(self, *names: str) -> None:
        self.steps += [["call", name] for name in names]

    def answers(self, series: str) -> list[Any]:
        """Of all calls, in their order."""
        found = run_program(series, "amphora_program.py", conf=conf(series), steps=self.steps)
        assert len(found) == len(self.steps)
        asked = zip(self.steps, found, strict=True)
        return [answer for step, answer in asked if step[0] in ("call", "intrude")]


@pytest.mark.parametrize("series", SERIES)
def test_octavia_and_an_amphora_know_each_other_before_and_after_a_renewal(charts: Path, series: str) -> None:
    bed = Region(charts, days=31)
    bed.mount()
    bed.boot("one")
    bed.call("one")
    bed.days(31)
    bed.mount()
    bed.call("one")
    bed.steps.append(["renew", "one"])
    bed.call("one")
    assert bed.answers(series) == [ANSWER] * 3


@pytest.mark.parametrize("series", SERIES)
def test_an_amphora_cannot_pass_for_octavia(charts: Path, series: str) -> None:
    bed = Region(charts, days=0)
    bed.mount()
    bed.boot("one", "two")
    bed.steps.append(["intrude", "one", "two"])
    bed.call("one")
    refused, answered = bed.answers(series)
    assert str(refused).startswith("refused")
    assert answered == ANSWER


@pytest.mark.parametrize("series", SERIES)
def test_amphorae_from_before_are_known_while_and_after_the_server_authority_changes(
    charts: Path, series: str
) -> None:
    years = AMPHORA_AUTHORITY_LIFE / DAY * 2 / 3
    bed = Region(charts, days=years + 5)
    bed.days(years - 1)
    first = bed.texts(AMPHORA_SECRET)["server_ca.cert.pem"]
    bed.mount()
    bed.boot("before")
    bed.days(2)
    assert bed.texts(AMPHORA_SECRET)["server_ca-chain.cert.pem"] != first
    bed.mount()
    bed.boot("meanwhile")
    bed.call("before", "meanwhile")
    bed.days(3.9)
    assert bed.texts(AMPHORA_SECRET)["server_ca.cert.pem"] != first
    bed.mount()
    bed.boot("after")
    bed.call("before", "meanwhile", "after")
    # Without the one before, the earlier ones would be lost: the step in between is what keeps them.
    bed.mount(**{"server_ca-chain.cert.pem": bed.texts(AMPHORA_SECRET)["server_ca.cert.pem"]})
    bed.call("before", "after")
    *known, lost, after = bed.answers(series)
    assert known == [ANSWER] * 5
    assert str(lost).startswith("refused")
    assert after == ANSWER


@pytest.mark.parametrize("series", SERIES)
def test_amphorae_that_are_made_meanwhile_know_both_client_authorities(charts: Path, series: str) -> None:
    bed = Region(charts, days=3)
    bed.mount()
    bed.boot("before")
    bed.days(1)
    bed.lose(CLIENT_AUTHORITY_SECRET)
    bed.reconcile()
    bed.mount()
    bed.boot("meanwhile")
    bed.call("before", "meanwhile")
    mark = bed.condition()["message"].rpartition("=")[2]
    notes = {"metadata": {"annotations": {AMPHORAE_TRUST_ANNOTATION: mark}}}
    bed.kube.merge_patch(SECRET, CLIENT_AUTHORITY_SECRET, NS, notes)
    bed.days(1)
    bed.mount()
    bed.call("meanwhile", "before")
    *known, left = bed.answers(series)
    assert known == [ANSWER] * 3
    assert str(left).startswith("refused")
