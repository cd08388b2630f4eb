"""Writes what a chart of OpenStack-Helm says into the folder of its service, and lists what is missing.

make service SERVICE=<service> CHARTS=<checkout of openstack-helm>

`versions.yaml` and the tables of services in docs/ are written; `service.yaml` is a person's, and what it
lacks is printed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.domain.values.option_files import is_common
from tools.service_tables import write_tables

ROOT = Path(__file__).parents[1]
SERVICES = ROOT / "values" / "services"
# `2026.1-ubuntu_noble`: a tag of which every version of OpenStack has its own.
SERIES = re.compile(r"20\d\d\.\d(?=-)")
# Accounts that every chart has, and that the administrator's credentials fill in.
_SHARED_ACCOUNTS = ("admin",)
# helm-toolkit's template of files with sections, and a key under `conf` that it is given.
_OPTIONS_PRINTED = "helm-toolkit.utils.to_oslo_conf"
_CONF_KEY = re.compile(r"\.Values\.conf\.(\w+)")


def versions() -> list[str]:
    """The versions of OpenStack that the library has, oldest first."""
    return sorted(path.stem for path in (ROOT / "values" / "versions").glob("*.yaml"))


def tags_of(chart: Mapping[str, Any], version: str, others: Mapping[str, str]) -> dict[str, str]:
    """The images of a version: those that name a version, and those in which versions differ elsewhere.

    `others` are images by tag that folders of other services give for the version.
    """
    tags: Mapping[str, Any] = chart["images"]["tags"]
    ours = {
        name: SERIES.sub(version, image)
        for name, image in tags.items()
        if isinstance(image, str) and SERIES.search(image)
    }
    return ours | {name: others[name] for name in tags if name in others and name not in ours}


def elsewhere(service: str, version: str) -> dict[str, str]:
    """Images without a version of OpenStack in their tag that other services name for this version."""
    found: dict[str, str] = {}
    for path in sorted(SERVICES.glob("*/versions.yaml")):
        if path.parent.name == service:
            continue
        for chart in (yaml.safe_load(path.read_text())[version] or {}).values():
            images = (chart.get("images") or {}).get("tags") or {}
            found.update({tag: image for tag, image in images.items() if not SERIES.search(image)})
    return found


def write_versions(service: str, charts: Mapping[str, Mapping[str, Any]]) -> Path:
    """Writes versions.yaml of the service, with the images of these charts; other values of it stay."""
    path = SERVICES / service / "versions.yaml"
    before = yaml.safe_load(path.read_text()) if path.exists() else {}
    content: dict[str, dict[str, Any]] = {}
    for version in versions():
        others = elsewhere(service, version)
        content[version] = dict(before.get(version) or {})
        for name, chart in charts.items():
            kept = dict(content[version].get(name) or {})
            content[version][name] = kept | {"images": {"tags": tags_of(chart, version, others)}}
    path.write_text(yaml.safe_dump(content, sort_keys=False, width=118))
    return path


def written_files(chart: Path) -> frozenset[str]:
    """Keys under `conf` that the chart's templates write as sections of options, without common ones."""
    found = set[str]()
    for template in chart.glob("templates/**/*.yaml"):
        for line in template.read_text().splitlines():
            if _OPTIONS_PRINTED in line:
                found.update(_CONF_KEY.findall(line))
    return frozenset(key for key in found if not is_common(key))


def _files_of(chart: Mapping[str, Any]) -> frozenset[str]:
    """The keys that the entry of a chart names."""
    others = chart.get("otherFiles") or {}
    named = (chart.get("optionFiles"), chart.get("optionFolders"), *others.values())
    return frozenset().union(*(keys or () for keys in named))


def lacking(
    entry: Mapping[str, Any],
    charts: Mapping[str, Mapping[str, Any]],
    written: Mapping[str, frozenset[str]],
) -> Iterator[str]:
    """What the charts have and the entry does not say. `charts` are their values, and `written` the keys
    under `conf` that they write as files of sections."""
    credentials = entry.get("credentials") or {}
    for name, chart in charts.items():
        endpoints = chart.get("endpoints") or {}
        accounts = (endpoints.get("identity") or {}).get("auth") or {}
        for account in accounts:
            if account not in _SHARED_ACCOUNTS and f"{account}-password" not in credentials:
                yield f"credentials: {account}-password (account {account} of chart {name})"
        for server, credential in (
            ("oslo_db", "database-password"),
            ("oslo_messaging", "messaging-password"),
        ):
            if server in endpoints and credential not in credentials:
                yield f"credentials: {credential} (chart {name} has endpoints.{server})"
        for key in sorted(written[name] - _files_of(entry["charts"].get(name) or {})):
            yield f"charts.{name}.optionFiles or otherFiles: {key}"
    public = entry.get("publicEndpoints") or {}
    unknown = [
        key for key in public if not any(key in (one.get("endpoints") or {}) for one in charts.values())
    ]
    yield from (f"publicEndpoints.{key}: no chart has endpoints.{key}" for key in unknown)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("service")
    parser.add_argument("charts", type=Path, help="a checkout of openstack-helm")
    arguments = parser.parse_args()
    entry = yaml.safe_load((SERVICES / arguments.service / "service.yaml").read_text())
    names = [name for name, chart in entry["charts"].items() if "upstream" in chart["sources"]]
    charts = {name: yaml.safe_load((arguments.charts / name / "values.yaml").read_text()) for name in names}
    for path in (write_versions(arguments.service, charts), *write_tables()):
        print(f"wrote {path.relative_to(ROOT)}")
    written = {name: written_files(arguments.charts / name) for name in names}
    missing = list(lacking(entry, charts, written))
    for line in missing:
        print(f"service.yaml lacks {line}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
