"""A file of Neutron's plug-ins that stands beside them is reported with its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.render.region import core_spec, render


def warnings(conf: dict[str, Any]) -> list[tuple[str, str]]:
    services = {"networking": {"neutron": {"values": {"conf": conf}}}}
    found = render(core_spec(services=services)).warnings
    return [(one.path, one.remedy) for one in found if ".conf" in one.path]


@pytest.mark.parametrize("file", ["ml2_conf", "ml2_conf.ini"])
def test_a_file_of_plug_ins_is_reported_with_its_place(file: str) -> None:
    [(path, remedy)] = warnings({file: {"ml2": {"extension_drivers": "port_security"}}})
    assert "ml2_conf" in path
    assert remedy.startswith('did you mean "plugins.ml2_conf"?')


def test_in_its_place_nothing_is_reported() -> None:
    assert warnings({"plugins": {"ml2_conf": {"ml2": {"extension_drivers": "port_security"}}}}) == []
