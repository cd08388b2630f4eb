"""Searches the references of an OpenStackServer among the objects that its project may use.

An administrator's credentials see the images, networks and subnets of all projects, and any user may choose a
name that another one searches. A filter finds objects of the own project. If there are none, it finds objects
that the operators of the cloud offer to all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.adapters.openstack.answers import items_of
from controller.adapters.openstack.calls import CloudCalls
from controller.adapters.openstack.server_shapes import network_query
from controller.domain.servers.server_spec import Reference
from controller.ports.servers import Catalog

_NOVA = "2.69"
_NETWORKING = {
    Catalog.NETWORK: ("/networks", "networks"),
    Catalog.EXTERNAL_NETWORK: ("/networks", "networks"),
    Catalog.SUBNET: ("/subnets", "subnets"),
    Catalog.SECURITY_GROUP: ("/security-groups", "security_groups"),
}
_IMAGES = "/images"
# A network or image of another project that all may use: only operators can create one.
_SHARED_WITH_ALL = ("shared", "router:external")


class CatalogSearch:
    """Reads of one cloud."""

    def __init__(self, calls: CloudCalls) -> None:
        self._calls = calls

    def find(self, catalog: Catalog, reference: Reference, *, network: str = "") -> tuple[str, ...]:
        """Ids of all matches of a reference, as in `ports.servers.ServerCloud.find`."""
        if catalog == Catalog.IMAGE:
            return self._images(reference)
        if catalog == Catalog.FLAVOR:
            return self._flavors(reference)
        if catalog == Catalog.SERVER_GROUP:
            return self._server_groups(reference)
        return self._of_neutron(catalog, reference, network)

    # -- Neutron ------------------------------------------------------------------------------------

    def _of_neutron(self, catalog: Catalog, reference: Reference, network: str) -> tuple[str, ...]:
        query = network_query(reference)
        if network:
            query["network_id"] = network
        if catalog == Catalog.EXTERNAL_NETWORK and not reference.id:
            query["router:external"] = "True"
        if reference.id or "project_id" in query:
            return _ids(self._listed(catalog, query))
        own = self._listed(catalog, {**query, "project_id": self._calls.login().project})
        if own or catalog == Catalog.SECURITY_GROUP:
            return _ids(own)
        others = self._listed(catalog, query)
        if catalog != Catalog.SUBNET:
            return _ids(one for one in others if _is_for_all(one))
        # Only the owner of a network can create its subnets.
        return _ids(one for one in others if network or self._is_of_network_for_all(one))

    def _is_of_network_for_all(self, subnet: Mapping[str, Any]) -> bool:
        found = self._listed(Catalog.NETWORK, {"id": str(subnet.get("network_id") or "")})
        project = self._calls.login().project
        return any(one.get("project_id") == project or _is_for_all(one) for one in found)

    def _listed(self, catalog: Catalog, query: Mapping[str, str]) -> list[dict[str, Any]]:
        path, name = _NETWORKING[catalog]
        return items_of(self._calls.get("network", path, query), name, path)

    # -- Glance -------------------------------------------------------------------------------------

    def _images(self, reference: Reference) -> tuple[str, ...]:
        if reference.id:
            # For a single image by id, Glance answers 404 with a page, like a proxy.
            return _ids(self._listed_images({"id": f"in:{reference.id}"}))
        query = {key: value for key, value in reference.query.items() if key == "name"}
        if reference.query.get("tags"):
            query["tag"] = list(reference.query["tags"])
        project = self._calls.login().project
        own = self._listed_images({**query, "owner": project})
        if own:
            return _ids(own)
        public = self._listed_images({**query, "visibility": "public"})
        if public:
            return _ids(public)
        given = self._listed_images({**query, "visibility": "shared", "member_status": "accepted"})
        return _ids(one for one in given if self._is_accepted(one, project))

    def _is_accepted(self, image: Mapping[str, Any], project: str) -> bool:
        """An administrator also sees images that are shared with other projects, or with none."""
        path = f"{_IMAGES}/{image['id']}/members"
        members = items_of(self._calls.get("image", path), "members", path)
        return any((one.get("member_id"), one.get("status")) == (project, "accepted") for one in members)

    def _listed_images(self, query: Mapping[str, Any]) -> list[dict[str, Any]]:
        return items_of(self._calls.get("image", _IMAGES, query), "images", _IMAGES)

    # -- Nova, which shows the own project's alone --------------------------------------------------

    def _flavors(self, reference: Reference) -> tuple[str, ...]:
        if reference.id:
            found = self._calls.get("compute", f"/flavors/{reference.id}", microversion=_NOVA)
            return () if found is None else (reference.id,)
        listed = self._calls.pages("compute", "/flavors", "flavors", {}, _NOVA)
        name = str(reference.query.get("name") or "")
        return _ids(one for one in listed if one.get("name") == name)

    def _server_groups(self, reference: Reference) -> tuple[str, ...]:
        path = "/os-server-groups"
        listed = items_of(self._calls.get("compute", path, microversion=_NOVA), "server_groups", path)
        key, value = ("id", reference.id) if reference.id else ("name", reference.query.get("name"))
        return _ids(one for one in listed if one.get(key) == value)


def _is_for_all(network: Mapping[str, Any]) -> bool:
    """To Neutron, an object is shared only if it is shared with the asking project, or with all."""
    return any(network.get(key) is True for key in _SHARED_WITH_ALL)


def _ids(listed: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(str(one["id"]) for one in listed)
