"""An API server that asks what an account may do, as the controller's chart grants it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from controller.domain.validation.rbac_union import Permission, permissions
from controller.errors import Forbidden
from controller.ports.kubernetes import POD, Kube, KubeObject, KubeObjects, Resource, resource_of
from tests.render.region import ROOT

CONTROLLER, CHARTS = "the controller", "charts"
_DATA = ROOT / "tests" / "data" / "held-rights.yaml"
_REGION, _CLUSTER = "openstack", "the cluster"


@cache
def rights_of(account: str, region: str, *, cluster_only: bool = False) -> frozenset[Permission]:
    """What the chart grants this account in a region's namespace and in the whole cluster; of the latter
    alone, what is left once the namespace has lost its Roles."""
    held = yaml.load(_DATA.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)[account]
    places = [_CLUSTER] if cluster_only else [_CLUSTER, _REGION]
    found = permissions(rule for place in places for rule in held[place])
    return frozenset(
        (group, kind, region if name == _REGION else name, verb) for group, kind, name, verb in found
    )


class HeldRights:
    """`kube` for an account with these rights in the namespace `region`, and none in any other."""

    def __init__(self, kube: Kube, account: str, region: str) -> None:
        self._kube = kube
        self._account = account
        self._region = region
        self._held = rights_of(account, region)

    def lose_roles(self) -> None:
        """From now on the namespace has none, as happens when it is deleted."""
        self._held = rights_of(self._account, self._region, cluster_only=True)

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        self._insist("get", resource, namespace, name)
        return self._kube.get(resource, name, namespace)

    def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> KubeObjects:
        self._insist("list", resource, namespace)
        return self._kube.list(resource, namespace, labels=labels, fields=fields)

    def list_metadata(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> KubeObjects:
        self._insist("list", resource, namespace)
        return self._kube.list_metadata(resource, namespace, labels=labels, fields=fields)

    def apply(
        self,
        obj: Mapping[str, Any],
        *,
        manager: str,
        subresource: str = "",
        force: bool = True,
        dry_run: bool = False,
    ) -> KubeObject:
        resource, meta = resource_of(obj), obj["metadata"]
        place = meta.get("namespace"), str(meta["name"])
        self._insist("patch", resource, *place, subresource)
        if self._kube.get(resource, place[1], place[0]) is None:
            self._insist("create", resource, *place)
        return self._kube.apply(obj, manager=manager, subresource=subresource, force=force, dry_run=dry_run)

    def create(self, obj: Mapping[str, Any]) -> KubeObject:
        self._insist("create", resource_of(obj), obj["metadata"].get("namespace"))
        return self._kube.create(obj)

    def replace(self, obj: Mapping[str, Any], *, subresource: str = "") -> KubeObject:
        meta = obj["metadata"]
        self._insist("update", resource_of(obj), meta.get("namespace"), str(meta["name"]), subresource)
        return self._kube.replace(obj, subresource=subresource)

    def merge_patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
    ) -> KubeObject | None:
        self._insist("patch", resource, namespace, name, subresource)
        return self._kube.merge_patch(resource, name, namespace, patch, subresource=subresource)

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "Background",
        grace: int | None = None,
    ) -> bool:
        self._insist("delete", resource, namespace, name)
        return self._kube.delete(
            resource, name, namespace, uid=uid, version=version, propagation=propagation, grace=grace
        )

    def pod_log(
        self,
        name: str,
        namespace: str,
        *,
        container: str = "",
        tail_lines: int = 20,
        previous: bool = False,
    ) -> str:
        self._insist("get", POD, namespace, name, "log")
        return self._kube.pod_log(
            name, namespace, container=container, tail_lines=tail_lines, previous=previous
        )

    def _insist(
        self, verb: str, resource: Resource, namespace: str | None, name: str = "", subresource: str = ""
    ) -> None:
        group = resource.api_version.rpartition("/")[0]
        plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
        elsewhere = namespace is not None and namespace != self._region
        wanted = {(group, plural, "", verb), (group, plural, name, verb)}
        if elsewhere or not wanted & self._held:
            where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
            raise Forbidden(
                f'{resource.plural} "{name}" is forbidden: User "{self._account}" cannot {verb} resource '
                f'"{plural}" in API group "{group}" {where}'
            )
