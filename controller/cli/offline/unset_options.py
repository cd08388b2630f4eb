"""Options that no layer sets: the chart's template writes them, or the default of the package holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.cli.offline.manifests import offline_helm, render_release
from controller.cli.offline.region import OfflineRegion, OfflineRenderer
from controller.cli.views.unset_options import UnsetOption, WrittenOption
from controller.domain.shared.secret_text import as_put_in
from controller.domain.values.chart_values import Path, format_path
from controller.domain.values.names.known_names import Service
from controller.domain.values.names.option_defaults import OptionDefault, OptionDefaults
from controller.errors import ControllerError, Problem, SpecInvalid
from controller.ports.kubernetes import KubeObject
from controller.render.region import RegionRelease

_ENDINGS = (".conf", ".ini")
# The name of a secret within an address, where a chart has escaped it.
_QUOTED = re.compile(r"%3C([\w.-]+)%2F([\w.-]+)%3E")
_NOT_HERE = " The service gets it as written."


def explain_unset(
    renderer: OfflineRenderer, region: OfflineRegion, release: RegionRelease, path: Path
) -> tuple[UnsetOption, ...]:
    """What is known of the option at the path, or of every option of the section there; nothing if the path
    is neither. Raises SpecInvalid, with the likely name, for an option that no package has and no template
    writes.
    """
    version = region.deployment.spec.files.version
    service = renderer.library.names.of(release.spec.chart.name, version)
    option = service.files.option_of(path)
    if option is None:
        return tuple(_of_section(service, renderer.option_defaults, path))
    file, section, name = option
    plain = name.replace("-", "_")
    default = renderer.option_defaults.of(service, file, section, plain)
    written = tuple(_written(_rendered(renderer, release), path[-3], section, plain))
    if default is None and not written:
        if service.has_option(file, section, plain):
            return (_unset(path, service, None),)
        for _, found in service.slips(file, section, {name: ""}, {}):
            text = f"{found.message}, and nothing sets it"
            raise SpecInvalid([Problem(format_path(path), text, found.remedy.removesuffix(_NOT_HERE))])
        return ()
    return (_unset(path, service, default, written),)


def _unset(
    path: Path, service: Service, default: OptionDefault | None, written: tuple[WrittenOption, ...] = ()
) -> UnsetOption:
    text, known = (default.text, True) if default is not None else (None, False)
    return UnsetOption(path, f"{service.chart} {service.series}", written, text, known)


def _of_section(service: Service, defaults: OptionDefaults, path: Path) -> Iterator[UnsetOption]:
    found = service.files.option_of((*path, "any"))
    if found is None:
        return
    file, section, _ = found
    for name in sorted(service.sections.get(section if section == "DEFAULT" else section.lower(), ())):
        yield _unset((*path, name), service, defaults.of(service, file, section, name))


def _rendered(renderer: OfflineRenderer, release: RegionRelease) -> tuple[KubeObject, ...]:
    """The objects of the release; none where Helm cannot render it, which other commands say."""
    try:
        found = render_release(release.spec, renderer.charts, offline_helm())
    except ControllerError:
        return ()
    return (*found.manifest, *found.hooks)


def _written(objects: Iterable[KubeObject], stem: str, section: str, option: str) -> Iterator[WrittenOption]:
    """The option in files of this name; each value once."""
    files = [(f"{one['kind']} {one['metadata']['name']}", *entry) for one in objects for entry in _files(one)]
    exact = [one for one in files if one[1] in {f"{stem}{ending}" for ending in _ENDINGS}]
    # Glance's file is glance-api.conf.
    other = [one for one in files if one[1].startswith(f"{stem}-") and one[1].endswith(_ENDINGS)]
    told: set[str] = set()
    for where, name, text in exact or other:
        value = _read(_QUOTED.sub(r"<\1/\2>", text), section, option)
        if value is not None and value not in told:
            told.add(value)
            yield WrittenOption(value, f"{where}, {name}")


def _files(obj: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if obj.get("kind") not in ("Secret", "ConfigMap"):
        return
    yield from (obj.get("stringData") or {}).items()
    for name, content in (obj.get("data") or {}).items():
        text = as_put_in(content) if obj["kind"] == "Secret" else content
        if text is not None:
            yield name, text


def _read(text: str, section: str, option: str) -> str | None:
    """The values of an option as a file of oslo.config has them, several with line breaks."""
    here, found = False, []
    for line in text.splitlines():
        if line.startswith("["):
            here = line.strip() == f"[{section}]"
        elif here and not line.startswith(("#", " ", "\t")):
            name, sign, value = line.partition("=")
            if sign and name.strip().replace("-", "_") == option:
                found.append(value.strip())
    return "\n".join(found) if found else None
