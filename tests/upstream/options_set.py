"""The options that our values set, by chart, file, section and name: what `values/` writes below `conf`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.values.chart_values import is_secret_ref
from controller.render.region import Region
from tests.render.region import core_spec, library, render
from tests.render.specs import FEATURES, PAIRS, brought

# Sections that people name: which the options are of.
STORES, GLANCE_STORES = "backend_defaults", "glance_store"
_LIBRARIES = (
    "DEFAULT",
    "database",
    "keystone_authtoken",
    "barbican",
    "audit_middleware_notifications",
    "cors",
)

# In place of a secret: of an option with a `$` no one knows the type before all options are read.
SECRET = "$secret"


@dataclass(frozen=True)
class Option:
    """An option of a chart's file, `conf.<file>.<section>.<name>`."""

    chart: str
    file: str
    section: str
    name: str

    def __str__(self) -> str:
        return f"{self.chart}: {self.file}.conf [{self.section}] {self.name}"


def like(chart: str, file: str, section: str) -> tuple[str, ...]:
    """Sections whose options a section may have, for sections that people name."""
    if file == "backends":
        return STORES, "DEFAULT"
    if chart == "glance" and section not in _LIBRARIES and not section.startswith("oslo_"):
        return (GLANCE_STORES,)
    if chart == "manila" and section in ("cephfs", "generic"):
        return ("DEFAULT",)
    return ()


def whole_region(series: str) -> Region:
    """A region with every service, several replicas of each."""
    every = [name for name, entry in library().catalogue.services.items() if entry.offered_by("upstream")]
    whole = {"services": {"enabled": every}, "gateway": {"className": "envoy"}}
    spec = {"openstackVersion": series, "preset": "compute-baremetal", "size": "small", "features": whole}
    return render(core_spec(**spec, **brought(*every)))


def feature_regions() -> Iterator[tuple[str, Region]]:
    """A region for each feature and each pair of features, by name; of one series, for none depends on it."""
    for name, spec in {**FEATURES, **PAIRS}.items():
        yield name, render(core_spec(**{"preset": "compute-baremetal", **spec}))


def options_set(region: Region) -> Iterator[tuple[Option, tuple[str, ...]]]:
    """Every option that the region's values set, with its values as the chart writes them."""
    for bundle in region.bundles:
        for release in bundle.releases:
            conf = release.spec.values.get("conf") or {}
            for option, value in _of_conf(release.spec.chart.name, conf):
                texts = tuple(_texts(value))
                if texts:
                    yield option, texts


def _of_conf(chart: str, conf: Mapping[str, Any]) -> Iterator[tuple[Option, Any]]:
    for file, content in conf.items():
        folder = library().catalogue.option_files.charts[chart].folders.get(file)
        if folder is not None and folder.options_of:
            files = dict.fromkeys([folder.options_of], next(iter(content.values()), {}))
        elif folder is not None:
            files = {f"{file}.{name}": part for name, part in content.items()}
        else:
            known = library().catalogue.option_files.charts[chart].options
            files = {file: content} if file in known else {}
        for name, sections in files.items():
            for section, options in sections.items():
                for option, value in (options or {}).items():
                    yield Option(chart, name, section, option), value
    for part in (conf.get("overrides") or {}).values():
        for one in part.get("labels") or ():
            yield from _of_conf(chart, one.get("conf") or {})


def _texts(value: Any) -> Iterator[str]:
    if is_secret_ref(value):
        yield SECRET
    elif isinstance(value, Mapping):
        if "values" in value:
            yield from map(_text, value["values"])
    elif isinstance(value, list | tuple):
        yield ",".join(map(_text, value))
    elif value is not None:
        yield _text(value)


def _text(value: Any) -> str:
    if is_secret_ref(value):
        return SECRET
    return str(value).lower() if isinstance(value, bool) else str(value)
