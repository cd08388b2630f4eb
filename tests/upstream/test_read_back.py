"""Every option of every package reads what an operator wrote, or `osctl validate` says that it does not.

Each is given values of many kinds, as YAML has them. helm-toolkit's own function writes them, and oslo.config
reads them with the packages' definitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.names.known_names import Service
from controller.domain.values.names.wrong_option_values import with_brackets, wrong_values
from tests.render.region import library
from tests.upstream.option_packages import PACKAGES, SERIES, ask
from tests.upstream.regions import of_chart

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(1800)]

LARGE = 2_592_000
SAMPLES: tuple[Any, ...] = (
    ["alpha", "beta"],
    ["alpha"],
    {"a": "1"},
    "192.0.2.1",
    "192.0.2.1/24",
    "first\nsecond = x\n",
    LARGE,
    True,
    "word",
    "a:1,b:2",
    "a:1,",
    "[a,b]",
    '"quoted"',
    "https://example.org/x",
    "-1",
    1.5,
)
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {conf: {{ include "helm-toolkit.utils.to_oslo_conf" .Values.conf | toJson }}}
"""
# Types of services' own: names of capabilities and of resources.
_OWN_TYPES = ("capabilities", "unified_limits_resource_list")


def toolkit(charts: Path, directory: Path) -> Path:
    """A chart that has nothing but a file of options."""
    chart = directory / "read-back"
    (chart / "templates").mkdir(parents=True)
    (chart / "charts").mkdir()
    (chart / "charts" / "helm-toolkit").symlink_to(charts / "helm-toolkit")
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: read-back\nversion: 0.1.0\n")
    (chart / "templates" / "conf.yaml").write_text(TEMPLATE)
    (chart / "values.yaml").write_text("{}")
    return chart


def options(service: Service) -> Iterator[tuple[str, str]]:
    """Section and name of each."""
    for section, names in sorted(service.sections.items()):
        yield from ((section, name) for name in sorted(names))


def untold(service: Service, file: str) -> Iterator[tuple[str, str, Any, Any]]:
    """Section, name and value of what is not set, and the value as it is sent."""
    places = list(options(service))
    for sample in SAMPLES:
        conf: dict[str, Any] = {}
        for section, name in places:
            conf.setdefault(section, {})[name] = sample
        values = {"conf": {file: conf}}
        lower = {"conf": {file: {section: {} for section in conf}}}
        wrong = {one.problem.path for one in wrong_values(Layer("services", values), lower, service)}
        sent = service.files.with_numbers_as_text(with_brackets(values, service))["conf"][file]
        for section, name in places:
            path = Layer("services", values).full_path(("conf", file, section, name))
            if path not in wrong:
                yield section, name, sample, sent[section][name]


def same(given: Any, read: Any) -> bool:
    """Whether what is read is what was given, as its kind says it."""
    if isinstance(read, list):
        if read and all(isinstance(item, dict) for item in read):
            if all(isinstance(value, list) for item in read for value in item.values()):  # pools by name
                named = [",".join((key, *value)) for item in read for key, value in item.items()]
                return named == [
                    str(one).lower() if isinstance(one, bool) else str(one) for one in _all(given)
                ]
            pairs = [f"{key}:{value}" for item in read for key, value in item.items()]
            return isinstance(given, str) and pairs == [part.strip() for part in given.split(",") if part]
        if isinstance(given, str):
            bare = given.removeprefix("[").removesuffix("]") if [given] != read else given
            return [str(item) for item in read] in (
                [given],
                [part.strip() for part in bare.split(",") if part],
            )
        wanted = given if isinstance(given, list) else [given]
        return [str(item).lower() for item in read] in (
            [str(item).lower() for item in wanted],
            [",".join(map(str, wanted))],
        )
    if isinstance(read, dict):
        return ",".join(f"{key}:{value}" for key, value in read.items()) == given
    if isinstance(read, bool):
        return str(given).lower() in ("true", "1", "yes", "on") if read else True
    if isinstance(read, int | float):
        return float(given) == read
    text = ",".join(given) if isinstance(given, list) else str(given)
    return str(read).lower() == text.lower()


def _all(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _texts(chart: Path, sent: list[tuple[str, Any]]) -> list[str]:
    """The lines that helm-toolkit writes of each option."""
    sections = {f"{index:06}": {name: value} for index, (name, value) in enumerate(sent)}
    [obj] = of_chart(chart, {"conf": sections})
    parts = obj["data"]["conf"].split("\n[")
    assert len(parts) == len(sections)
    return [part.partition("]\n")[2] for part in parts]


@pytest.mark.parametrize("chart", sorted(PACKAGES))
@pytest.mark.parametrize("series", SERIES)
def test_what_is_not_stated_is_read_as_it_was_written(
    series: str, chart: str, charts: Path, tmp_path: Path
) -> None:
    service = library().names.of(chart, series)
    file = chart if chart in service.files.charts[chart].options else "nova"
    found = [one for one in untold(service, file) if one[1] not in _OWN_TYPES]
    texts = _texts(toolkit(charts, tmp_path), [(name, sent) for _, name, _, sent in found])
    asked = [[section, name, text] for (section, name, _, _), text in zip(found, texts, strict=True)]
    answers = ask(series, chart, read_back=asked)["read_back"]
    differ = [
        f"[{section}] {name} = {given!r}: {read}"
        for (section, name, given, _), (taken, read) in zip(found, answers, strict=True)
        if not taken or not same(given, read)
    ]
    assert differ == [], f"{len(differ)} of {len(found)}"
