"""The spec is read against its definition once a generation, whoever asks for it and how often."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.region.deployment import OpenStackDeployment
from controller.domain.validation.definitions.crd_schema import ResourceSchema
from controller.errors import SpecInvalid
from controller.render import parsed_deployment
from controller.render.parsed_deployment import ParsedDeployment
from tests.render.region import core_spec, schema


def osdpl(spec: dict[str, Any], generation: int) -> dict[str, Any]:
    meta = {"name": "region-one", "namespace": "openstack", "uid": "u1", "generation": generation}
    return {"apiVersion": "osctl.dev/v1alpha1", "kind": "OpenStackDeployment", "metadata": meta, "spec": spec}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    times: list[int] = []
    real = parsed_deployment.parse_deployment

    def counted(obj: Any, by: ResourceSchema) -> OpenStackDeployment:
        times.append(obj["metadata"]["generation"])
        return real(obj, by)

    monkeypatch.setattr(parsed_deployment, "parse_deployment", counted)
    return times


def test_a_generation_is_read_once(read: list[int]) -> None:
    parsed = ParsedDeployment(schema())
    first = parsed.of(osdpl(core_spec(), 1))
    assert parsed.of({**osdpl(core_spec(), 1), "status": {"state": "Applied"}}) is first
    assert parsed.of(osdpl(core_spec(size="tiny"), 2)).spec.size == "tiny"
    assert read == [1, 2]


def test_a_wrong_spec_is_read_once_and_refused_each_time(read: list[int]) -> None:
    parsed = ParsedDeployment(schema())
    for _ in range(2):
        with pytest.raises(SpecInvalid, match="no such size") as refused:
            parsed.of(osdpl(core_spec(size="no such size"), 1))
        assert refused.value.__context__ is None
    assert read == [1]
    assert parsed.of(osdpl(core_spec(), 2)).spec.size != ""
