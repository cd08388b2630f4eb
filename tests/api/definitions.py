"""The resource definitions as files, and short ways to write objects of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.adapters.system.crd_files import load_schema
from controller.domain.validation.definitions.crd_schema import ResourceSchema

CRDS = Path(__file__).parents[2] / "charts" / "openstack-controller" / "files" / "crds"
PLURALS = {
    "OpenStackDeployment": "openstackdeployments",
    "HelmBundle": "helmbundles",
    "ComputeMaintenance": "computemaintenances",
    "OpenStackServer": "openstackservers",
    "RegionRestore": "regionrestores",
}
SCHEMAS: Mapping[str, ResourceSchema] = {kind: load_schema(CRDS, plural) for kind, plural in PLURALS.items()}
DEFINITIONS: Mapping[str, Any] = {
    kind: yaml.load((CRDS / f"{plural}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    for kind, plural in PLURALS.items()
}

REGION: Mapping[str, Any] = {
    "openstackVersion": "2026.1",
    "preset": "core",
    "size": "single",
    "publicDomainName": "it.just.works",
}
RELEASE: Mapping[str, Any] = {"name": "keystone", "chart": {"name": "keystone", "path": "keystone"}}


SERVER: Mapping[str, Any] = {
    "image": {"filter": {"name": "tiny"}},
    "flavor": "small",
    "ports": [{"network": {"filter": {"name": "net0"}}}],
}


def osdpl(name: str = "region-one", namespace: str = "openstack", **spec: Any) -> dict[str, Any]:
    """An OpenStackDeployment with what is required, and `spec` over it."""
    return _obj("OpenStackDeployment", name, namespace, {**copy.deepcopy(dict(REGION)), **spec})


def bundle(bundle_name: str = "identity", **release: Any) -> dict[str, Any]:
    """A HelmBundle of one release, with `release` over it."""
    return _obj(
        "HelmBundle", bundle_name, "openstack", {"releases": [{**copy.deepcopy(dict(RELEASE)), **release}]}
    )


def evacuation(**fenced: str) -> dict[str, Any]:
    """A ComputeMaintenance that only plans to evacuate a machine, confirmed to be off as `fenced` says."""
    region = {"namespace": "openstack", "name": "region-one"}
    spec = {"region": region, "nodeName": "cmp1", "mode": "Evacuate", "dryRun": True, "fenced": fenced}
    obj = _obj("ComputeMaintenance", "plan", "", spec)
    del obj["metadata"]["namespace"]
    return obj


def server(server_name: str = "bastion", **spec: Any) -> dict[str, Any]:
    """An OpenStackServer with what is required, and `spec` over it; what is None is left out."""
    whole = {**copy.deepcopy(dict(SERVER)), **spec}
    given = {key: value for key, value in whole.items() if value is not None}
    return _obj("OpenStackServer", server_name, "openstack", given)


def server_port(**port: Any) -> dict[str, Any]:
    """An OpenStackServer with one port."""
    return server(ports=[{"network": {"filter": {"name": "net0"}}, **port}])


def features(**given: Any) -> dict[str, Any]:
    """An OpenStackDeployment with these features."""
    return osdpl(features=given)


def nodes(kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every schema below the root of a definition with its path: items are `[]`, free keys `*`."""
    for version in DEFINITIONS[kind]["spec"]["versions"]:
        yield from _below(version["schema"]["openAPIV3Schema"], "")


def _below(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, child in node.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here, child
        yield from _below(child, here)
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(node.get(key), Mapping):
            yield path + mark, node[key]
            yield from _below(node[key], path + mark)


def _obj(kind: str, name: str, namespace: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": dict(spec),
    }
