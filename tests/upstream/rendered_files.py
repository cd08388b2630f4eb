"""The files that services read, as OpenStack-Helm's charts render them, with our values and with none."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from controller.cli.offline.manifests import offline_helm
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.values.secret_refs import resolve
from controller.ports.helm import HelmRequest
from controller.render.region import render_region
from tests.fakes.option_files import option_files as charts_files
from tests.render.region import core_spec, deployment, library
from tests.render.specs import brought
from tests.upstream.option_packages import PACKAGES
from tests.upstream.regions import charts_given, store

# Files of oslo.config, by their names in Secrets. Not those of agents that no feature brings.
_OPTIONS = (
    *(
        "*/keystone.conf",
        "*/placement.conf",
        "*/glance-api.conf",
        "*/nova*.conf",
        "*/neutron*.conf",
        "*/cinder*.conf",
    ),
    *(
        "*/heat.conf",
        "*/barbican.conf",
        "*/designate.conf",
        "*/octavia.conf",
        "*/manila.conf",
        "*/ironic.conf",
    ),
    *("*/masakari.conf", "*/aodh.conf", "*/ceilometer.conf", "*/gnocchi.conf", "*/placement_*.conf"),
    *(
        "*/backends.conf",
        "*/coordination.conf",
        "*/ml2_conf.ini",
        "*/openvswitch_agent.ini",
        "*/dhcp_agent.ini",
    ),
    *(
        "*/l3_agent.ini",
        "*/metadata_agent.ini",
        "*/ovn_agent.ini",
        "*/ovn_metadata_agent.ini",
        "*/ovn_vpn_agent.ini",
    ),
)
PASTE, POLICY, UWSGI = "*paste.ini", "*/policy.yaml", "*uwsgi.ini"
_OVN = {"backend": "ml2/ovn", "externalNetworks": [{"name": "public", "bridge": "br-ex"}]}
# By name: what differs from a region with every service, on Open vSwitch.
REGIONS: Mapping[str, Mapping[str, Any]] = {
    "ovs": {},
    "ovn": {
        "networking": _OVN,
        "loadBalancer": {"provider": "ovn"},
        "messaging": {"notifications": {"enabled": True}},
    },
}


def made_up(name: str, key: str) -> str:
    """A secret of the form that its key wants, the same at each rendering."""
    digest = hashlib.sha256(f"{name}/{key}".encode()).digest()
    return base64.b64encode(digest).decode() if key == "simple-crypto-key" else digest.hex()[:32]


@cache
def files(series: str, region: str) -> Mapping[str, Mapping[str, str]]:
    """By chart: the files of its Secrets and ConfigMaps, as `<object>/<file>`."""
    spec = _spec(series, **REGIONS[region])
    found = render_region(deployment(spec), library(), store())
    releases = (release.spec for bundle in found.bundles for release in bundle.releases)
    return {
        release.chart.name: _files(release, bare=False)
        for release in releases
        if release.chart.name in PACKAGES
    }


@cache
def bare_files() -> Mapping[str, Mapping[str, str]]:
    """The same of the charts' own values."""
    found = render_region(deployment(_spec("2026.1")), library(), store())
    releases = (release.spec for bundle in found.bundles for release in bundle.releases)
    return {
        release.chart.name: _files(release, bare=True)
        for release in releases
        if release.chart.name in PACKAGES
    }


def files_of_chart(chart: str, **features: Any) -> Mapping[str, str]:
    """The files of one chart, in a region of 2026.1 with these features."""
    found = render_region(deployment(_spec("2026.1", **features)), library(), store())
    release = found.release(chart)
    assert release is not None
    return _files(release.spec, bare=False)


def option_files(found: Mapping[str, str]) -> dict[str, str]:
    """Those of oslo.config, each content once."""
    once: dict[str, str] = {}
    for name, text in sorted(found.items()):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in _OPTIONS) and text not in once.values():
            once[name] = text
    return once


def named(found: Mapping[str, str], pattern: str) -> Iterator[tuple[str, str]]:
    """Files whose name fits, each content once."""
    seen = set()
    for name, text in sorted(found.items()):
        if fnmatch.fnmatchcase(name, pattern) and text not in seen:
            seen.add(text)
            yield name, text


def _spec(series: str, **features: Any) -> dict[str, Any]:
    every = [name for name, entry in library().catalogue.services.items() if entry.offered_by("upstream")]
    whole = {
        "services": {"enabled": every},
        "gateway": {"className": "envoy"},
        "metering": {"alarms": {"enabled": True}},
        "blockStorage": {"backends": [{"name": "fast", "type": "ceph"}]},
        **features,
    }
    repository = {"repository": f"file://{charts_given()}"}
    base = {"openstackVersion": series, "preset": "compute-baremetal", "size": "small"}
    return core_spec(**base, features=whole, charts=repository, **brought(*every))


def _files(release: ReleaseSpec, *, bare: bool) -> dict[str, str]:
    values = (
        {}
        if bare
        else resolve(release.values, made_up, charts_files(), release=release.name, upstream=True).values
    )
    path = store().locate(release.chart)
    rendered = offline_helm().render(HelmRequest(release.name, release.namespace, path, values))
    found = {}
    for obj in (*rendered.hooks, *rendered.manifest):
        if obj["kind"] not in ("Secret", "ConfigMap"):
            continue
        data = obj.get("data") or {}
        if obj["kind"] == "Secret":
            data = {key: base64.b64decode(text).decode(errors="replace") for key, text in data.items()}
        data = {**data, **(obj.get("stringData") or {})}
        found |= {f"{obj['metadata']['name']}/{key}": text for key, text in data.items()}
    return found
