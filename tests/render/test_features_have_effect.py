"""No feature is a silent no-op: each field of spec.features changes what is sent, or is refused."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from controller.errors import SpecInvalid
from tests.render.region import UPSTREAM_REPOSITORY, core_spec, render, schema
from tests.render.specs import FEATURES

Field = tuple[str, ...]  # list items as "[]", keys of open maps as "*"

# Fields that change something else than values, with what they change.
ELSEWHERE: Mapping[str, str] = {
    "services.enabled.[]": "which services there are",
    "services.disabled.[]": "which services there are",
    "credentials.*.*.name": "where a secret is read, see test_credentials.py",
    "credentials.*.*.key": "where a secret is read, see test_credentials.py",
    "credentialRotation.every": "what the secrets container does, see test_rotation_schedule.py",
    "credentialRotation.window.start": "what the secrets container does, see test_rotation_schedule.py",
    "credentialRotation.window.duration": "what the secrets container does, see test_rotation_schedule.py",
    "credentialRotation.window.days.[]": "what the secrets container does, see test_rotation_schedule.py",
    "readOnlyAccount.enabled": "what the secrets container does, see test_reader.py",
    "readOnlyAccount.project": "what the secrets container does, see test_reader.py",
    "readOnlyAccount.offeredTo.[]": "what the secrets container does, see test_reader.py",
    "backup.destination.claim.size": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.destination.claim.storageClass": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.destination.s3.endpoint": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.destination.s3.bucket": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.destination.s3.prefix": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.destination.s3.region": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.destination.s3.credentials": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.destination.s3.ca": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.schedule": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.drill": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.keep.last": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.keep.daily": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.keep.weekly": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.passphrase": "CronJobs that core makes, see test_backup_jobs.py",
    "backup.image": "CronJobs that core makes, see test_backup_jobs.py",
    "tls.public.caSecret": "what the secrets container exports, see test_served_certificate.py",
    "tls.internal.authoritySecret": "who signs certificates, see test_own_certificates.py",
    "compute.libvirtTLS.addresses.[]": "what a certificate stands for, see test_libvirt_tls.py",
    "ceph.namespace": "what the secrets container reads, see test_ceph_exchange.py",
    "ceph.secretName": "what the secrets container reads, see test_ceph_exchange.py",
    "ceph.request": "what the secrets container asks for, see test_ceph_request.py",
    "ceph.pools.replicas": "what the secrets container asks for, see test_ceph_request.py",
    "ceph.pools.failureDomain": "what the secrets container asks for, see test_ceph_request.py",
    "ceph.pools.deviceClass": "what the secrets container asks for, see test_ceph_request.py",
    "nodes.evacuation": "what the node container does, see test_next_step.py",
    "nodes.holdDown": "what the node container does, see test_next_step.py",
    "nodes.maxUnhealthy": "what the node container does, see test_next_step.py",
    "nodes.fencing.url": "what the node container does, see test_fencing.py",
    "nodes.fencing.tokenFrom.name": "what the node container does, see test_fencing_service.py",
    "nodes.fencing.tokenFrom.key": "what the node container does, see test_fencing_service.py",
    "nodes.fencing.authorityFrom.name": "what the node container does, see test_fencing_service.py",
    "nodes.fencing.authorityFrom.key": "what the node container does, see test_fencing_service.py",
}


def fields(node: Mapping[str, Any], path: Field = ()) -> Iterator[Field]:
    """Every leaf of a part of the definition."""
    if "properties" in node:
        for key, below in node["properties"].items():
            yield from fields(below, (*path, key))
    elif isinstance(node.get("additionalProperties"), Mapping):
        yield from fields(node["additionalProperties"], (*path, "*"))
    elif "items" in node:
        yield from fields(node["items"], (*path, "[]"))
    else:
        yield path


def leaves(
    value: Any, node: Mapping[str, Any], path: Field = (), place: tuple[Any, ...] = ()
) -> Iterator[Any]:
    """Every leaf that a spec sets: its field and its place."""
    if "properties" in node:
        for key, item in value.items():
            yield from leaves(item, node["properties"][key], (*path, key), (*place, key))
    elif isinstance(node.get("additionalProperties"), Mapping):
        for key, item in value.items():
            yield from leaves(item, node["additionalProperties"], (*path, "*"), (*place, key))
    elif "items" in node:
        for index, item in enumerate(value):
            yield from leaves(item, node["items"], (*path, "[]"), (*place, index))
    else:
        yield path, place


def outcome(spec: dict[str, Any]) -> Any:
    """What is sent, or the text of the refusal."""
    try:
        region = render(spec)
    except SpecInvalid as refusal:
        return str(refusal)
    sent = {r.spec.name: r.spec.values for bundle in region.bundles for r in bundle.releases}
    return sent, region.warnings


def without(spec: dict[str, Any], place: tuple[Any, ...]) -> dict[str, Any]:
    """The spec without one leaf of its features."""
    changed = copy.deepcopy(spec)
    parent: Any = changed["features"]
    for key in place[:-1]:
        parent = parent[key]
    del parent[place[-1]]
    return changed


def effective_fields() -> set[Field]:
    """Fields whose removal from some spec changes the outcome."""
    features = schema().root["properties"]["spec"]["properties"]["features"]
    found: set[Field] = set()
    for body in FEATURES.values():
        if "features" not in body:
            continue
        spec = core_spec(**{"preset": "compute-baremetal", **body})
        before = outcome(spec)
        assert not isinstance(before, str)
        for field, place in leaves(spec["features"], features):
            if field not in found and outcome(without(spec, place)) != before:
                found.add(field)
    return found


@pytest.mark.exhaustive
def test_every_field_of_the_features_has_an_effect() -> None:
    features = schema().root["properties"]["spec"]["properties"]["features"]
    found = effective_fields()
    idle = {".".join(field) for field in fields(features)} - {".".join(field) for field in found}
    assert idle - set(ELSEWHERE) == set()


def alone(value: Any, node: Mapping[str, Any], place: tuple[Any, ...]) -> Any:
    """One leaf, with what the definition requires beside it."""
    if not place:
        return value
    key, rest = place[0], place[1:]
    if "properties" in node:
        required = {name: value[name] for name in node.get("required", ()) if name in value}
        return {**required, key: alone(value[key], node["properties"][key], rest)}
    if isinstance(node.get("additionalProperties"), Mapping):
        return {key: alone(value[key], node["additionalProperties"], rest)}
    return [alone(value[key], node["items"], rest)]


# What is the default of the sizes as well.
SAME_AS_DEFAULT = {"networking.routerHA"}


@pytest.mark.exhaustive
def test_a_field_that_does_nothing_alone_is_reported() -> None:
    """Every field, without any other one: the outcome differs, by a refusal or a warning."""
    features = schema().root["properties"]["spec"]["properties"]["features"]
    plain = {"preset": "compute", "charts": {"repository": UPSTREAM_REPOSITORY}}
    before, idle, effective = outcome(core_spec(**plain)), set[Field](), set[Field]()
    assert not isinstance(before, str)
    for body in FEATURES.values():
        whole = body.get("features", {})
        for field, place in leaves(whole, features):
            if field not in effective:
                changed = outcome(core_spec(**plain, features=alone(whole, features, place))) != before
                (effective if changed else idle).add(field)
    found = {".".join(field) for field in idle - effective}
    assert found - set(ELSEWHERE) == SAME_AS_DEFAULT
