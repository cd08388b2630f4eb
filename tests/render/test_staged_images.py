"""A staged image is imported by the pod that has it, and browsers may send one from the dashboard."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.chart_values import lookup
from controller.errors import Problem
from controller.render.region import Region
from tests.render.region import core_spec, render

ENV = ("conf", "glance_api_uwsgi", "uwsgi", "env")
S3 = {
    "s3_store_host": "https://s3.example.org",
    "s3_store_access_key": {"$secretRef": {"name": "s3", "key": "access"}},
    "s3_store_secret_key": {"$secretRef": {"name": "s3", "key": "secret"}},
    "s3_store_bucket": "images",
}
STORE = {"backends": [{"name": "objects", "type": "s3", "conf": S3}]}
ENCRYPTED = {"internal": {"enabled": True, "traffic": ["database", "messaging", "endpoints"]}}
CONVERTS = {"image_import_opts": {"image_import_plugins": ["image_conversion"]}}
SPACE = {"requests": {"ephemeral-storage": "100Gi"}, "limits": {"ephemeral-storage": "200Gi"}}


def region(
    glance: dict[str, Any] | None = None, *, size: str = "small", space: bool = True, **features: Any
) -> Region:
    values = {"conf": {"glance": glance or {}}, "pod": {"resources": {"api": SPACE if space else {}}}}
    services = {"image": {"glance": {"values": values}}}
    return render(core_spec(size=size, features={"image": STORE, **features}, services=services))


def value(found: Region, *path: str) -> Any:
    glance = found.release("glance")
    assert glance is not None
    return lookup(glance.merged.values, path)


def told(found: Region) -> list[Problem]:
    return [one for one in found.warnings if "services.image" in one.path]


def test_each_pod_is_known_to_the_others_by_its_own_address() -> None:
    found = region(CONVERTS)
    assert value(found, "pod", "replicas", "api") > 1
    name, _, address = value(found, *ENV).partition("=")
    assert name == "OS_DEFAULT__WORKER_SELF_REFERENCE_URL", "as oslo.config reads it from the environment"
    assert address.startswith("http://@(exec://hostname -i |") and address.endswith(":9292")
    assert told(found) == []


def test_conversion_without_space_that_is_reserved_is_reported() -> None:
    [warning] = told(region(CONVERTS, space=False))
    assert warning.path == "spec.services.image.glance.values.pod.resources.api"
    assert "requests no space" in warning.message
    assert told(region({}, space=False)) == []


def test_a_default_store_that_is_not_enabled_is_reported() -> None:
    [warning] = told(region({"glance_store": {"default_backend": "objcts"}}))
    assert warning.path.endswith("conf.glance.glance_store.default_backend")
    assert warning.message == "the store is not in enabled_backends, so Glance does not start"
    assert told(region({"glance_store": {"default_backend": "objects"}})) == []


def test_an_address_that_the_environment_overrides_is_reported() -> None:
    [warning] = told(region({"DEFAULT": {"worker_self_reference_url": "http://glance"}}))
    assert warning.path.endswith("conf.glance.DEFAULT.worker_self_reference_url")
    assert "has no effect" in warning.message


def test_with_encrypted_endpoints_no_pod_is_asked_in_clear_and_staged_imports_are_reported() -> None:
    found = region(CONVERTS, tls=ENCRYPTED)
    assert value(found, *ENV) is None
    [warning] = told(found)
    assert "an import by glance-direct fails" in warning.message
    without = {**CONVERTS, "DEFAULT": {"enabled_import_methods": ["web-download"]}}
    assert told(region(without, tls=ENCRYPTED)) == []
    assert told(region(CONVERTS, tls=ENCRYPTED, size="single")) == [], "one pod has all staged images"


@pytest.mark.parametrize(("encrypted", "scheme", "port"), [(False, "http", 80), (True, "https", 443)])
def test_glance_accepts_the_dashboard_where_it_is_published(encrypted: bool, scheme: str, port: int) -> None:
    public = {"tls": {"public": {"enabled": True}}, "services": {"enabled": ["gateway"]}}
    more = {**public, "gateway": {"className": "x"}} if encrypted else {}
    found = render(core_spec(preset="compute", features=more))
    dashboard = value(found, "endpoints", "dashboard")
    assert (dashboard["scheme"]["public"], dashboard["port"]["web"]["public"]) == (scheme, port)
