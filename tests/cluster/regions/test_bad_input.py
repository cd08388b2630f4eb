"""What a person may get wrong, against a region that runs: it is reported, and nothing is touched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.errors import SandboxError
from tests.cluster.region import NAME, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("shared-region"), pytest.mark.timeout(1800)]


def refusal(region: Region, osdpl: dict[str, Any] | str) -> str:
    """What the API server says to it."""
    text = osdpl if isinstance(osdpl, str) else json.dumps(osdpl)
    with pytest.raises(SandboxError) as caught:
        region.kubectl("apply", "--server-side", "-f", "-", input=text)
    return str(caught.value)


def reported(region: Region, **spec: Any) -> str:
    """SpecValid's message for the edited spec; afterwards the region is as it was and runs as before."""
    before = region.revisions()
    restore = {key: region.osdpl()["spec"].get(key) for key in spec}
    region.edit(**spec)
    generation = region.osdpl()["metadata"]["generation"]
    entry = wait_until(
        "SpecValid is False",
        lambda: _invalid(region.condition("SpecValid"), generation),
        show=lambda: json.dumps(region.status(), indent=1),
    )
    assert region.condition("Ready")["reason"] == "SpecInvalid"
    assert region.condition("Stalled")["status"] == "True"
    assert region.revisions() == before
    region.put_back(**restore)
    region.wait_ready()
    assert region.revisions() == before
    return str(entry["message"])


def _invalid(entry: dict[str, Any], generation: int) -> dict[str, Any] | None:
    current = entry.get("status") == "False" and entry.get("observedGeneration") == generation
    return entry if current else None


def test_features_may_be_left_out(shared_region: Region) -> None:
    osdpl = shared_region.manifest()
    del osdpl["spec"]["features"]
    shared_region.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", input=json.dumps(osdpl))


def test_an_unknown_field_is_refused_by_name(shared_region: Region) -> None:
    assert "openstackVersoin" in refusal(shared_region, shared_region.manifest(openstackVersoin="2026.1"))


def test_a_yaml_no_is_not_a_version(shared_region: Region) -> None:
    osdpl = f"""
apiVersion: osctl.dev/v1alpha1
kind: OpenStackDeployment
metadata: {{name: other, namespace: {shared_region.namespace}}}
spec: {{openstackVersion: no, preset: core, size: single, publicDomainName: example.org}}
"""
    answer = refusal(shared_region, osdpl)
    assert "spec.openstackVersion" in answer
    assert "string" in answer


def test_an_unknown_version_is_refused_with_those_known(shared_region: Region) -> None:
    answer = refusal(shared_region, shared_region.manifest(openstackVersion="2019.1"))
    assert "spec.openstackVersion" in answer
    assert "2026.1" in answer


def test_the_region_cannot_be_renamed(shared_region: Region) -> None:
    assert "region" in refusal(shared_region, shared_region.manifest(region="Elsewhere"))


@pytest.mark.exhaustive
def test_an_unknown_service_is_reported_with_the_nearest_one(shared_region: Region) -> None:
    message = reported(shared_region, services={"compue": {"nova": {"values": {}}}})
    assert "spec.services.compue" in message
    assert '"compute"' in message


@pytest.mark.exhaustive
def test_an_unknown_chart_is_reported_with_the_nearest_one(shared_region: Region) -> None:
    message = reported(shared_region, services={"compute": {"nvoa": {"values": {}}}})
    assert "spec.services.compute.nvoa" in message
    assert '"nova"' in message


def test_a_text_where_the_chart_has_a_map_is_reported_with_its_path(shared_region: Region) -> None:
    message = reported(shared_region, services={"identity": {"keystone": {"values": {"pod": "x"}}}})
    assert "spec.services.identity.keystone.values.pod" in message


def test_a_password_in_clear_is_reported_and_not_repeated(shared_region: Region) -> None:
    auth = {"endpoints": {"identity": {"auth": {"admin": {"password": "hunter2-in-clear"}}}}}
    message = reported(shared_region, services={"identity": {"keystone": {"values": auth}}})
    assert "endpoints.identity.auth.admin.password" in message
    assert "hunter2-in-clear" not in message


def test_a_spec_of_more_than_a_megabyte_is_answered_and_touches_nothing(shared_region: Region) -> None:
    values = {"conf": {f"key{number}": "x" * 1000 for number in range(1200)}}
    osdpl = shared_region.manifest(services={"identity": {"keystone": {"values": values}}})
    before = shared_region.revisions()
    services = shared_region.osdpl()["spec"].get("services")
    shared_region.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(osdpl))
    generation = shared_region.osdpl()["metadata"]["generation"]
    entry = wait_until(
        "SpecValid is False",
        lambda: _invalid(shared_region.condition("SpecValid"), generation),
        show=lambda: json.dumps(shared_region.status(), indent=1),
    )
    assert "spec" in entry["message"]
    assert len(entry["message"]) < 5000
    assert shared_region.revisions() == before
    shared_region.put_back(services=services)
    shared_region.wait_ready()
    assert shared_region.revisions() == before


def test_a_second_deployment_is_left_alone(shared_region: Region) -> None:
    second = shared_region.manifest()
    second["metadata"]["name"] = "second"
    before = shared_region.revisions()
    shared_region.apply(second)
    entry = wait_until(
        "the second one is told so",
        lambda: _other(shared_region.condition("Ready", "second")),
    )
    assert NAME in entry["message"]
    shared_region.wait_ready()
    assert shared_region.revisions() == before
    shared_region.kubectl("delete", "osdpl", "second", "--timeout=500s")
    shared_region.wait_ready()
    assert shared_region.revisions() == before


def _other(entry: dict[str, Any]) -> dict[str, Any] | None:
    return entry if entry.get("reason") == "AnotherDeploymentManaged" else None
