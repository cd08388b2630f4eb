"""An API server that asks what an account may do, as the controller's chart grants it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from typing import Any

import yaml

from controller.domain.validation.rbac_union import Permission, permissions
from controller.errors import Forbidden
from controller.ports.kubernetes import POD, Kube, Resource, resource_of
from tests.render.region import ROOT

CONTROLLER, CHARTS = "the controller", "charts"
_DATA = ROOT / "tests" / "data" / "held-rights.yaml"
_REGION, _CLUSTER = "openstack", "the cluster"
# By which right the API server asks for a call.
_VERBS = {
    "get": "get",
    "list": "list",
    "list_metadata": "list",
    "apply": "patch",
    "create": "create",
    "replace": "update",
    "merge_patch": "patch",
    "delete": "delete",
    "pod_log": "get",
}
_SIGNATURES = {call: signature(getattr(Kube, call)) for call in _VERBS}


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

    def __getattr__(self, call: str) -> Callable[..., Any]:
        """Each call of `Kube`, once the account was found to hold the right to it."""
        if call == "is_served":  # every account may ask for it
            return self._kube.is_served
        if call not in _VERBS:
            raise AttributeError(call)
        method = getattr(self._kube, call)

        def allowed(*args: Any, **more: Any) -> Any:
            self._allow(call, _SIGNATURES[call].bind(self, *args, **more).arguments)
            return method(*args, **more)

        return allowed

    def _allow(self, call: str, given: Mapping[str, Any]) -> None:
        obj = given.get("obj")
        resource = resource_of(obj) if obj is not None else given.get("resource", POD)
        meta = obj["metadata"] if obj is not None else given
        namespace, name = meta.get("namespace"), str(meta.get("name") or "")
        subresource = "log" if call == "pod_log" else given.get("subresource", "")
        # Of what is created no Role knows the name.
        self._insist(_VERBS[call], resource, namespace, "" if call == "create" else name, subresource)
        if call == "apply" and self._kube.get(resource, name, namespace) is None:
            self._insist("create", resource, namespace, name)

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
