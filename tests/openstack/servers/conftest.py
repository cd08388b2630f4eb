"""One control plane with the container `servers` for all tests of a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from sandbox.cluster import Sandbox
from sandbox.openstack.cloud import Cloud
from sandbox.take_down import take_down
from tests.cluster.region import Region
from tests.openstack.proxy import Proxy, proxied
from tests.openstack.servers.bed import ServersBed

NAMESPACE = "servers"
# Another one that is served, whose people have credentials of their own.
TEAM = "team"


@pytest.fixture(scope="session")
def shared_servers(cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServersBed]:
    name = "openstack-servers"
    directory = tmp_path_factory.mktemp("sandbox") / name
    with ExitStack() as stack:
        proxy: Proxy = stack.enter_context(proxied(cloud))
        stack.callback(take_down, name, directory)
        sandbox = Sandbox.up(name, directory, "small", private=True)
        for namespace in (NAMESPACE, TEAM):
            sandbox.create_namespace(namespace, {})
        environment = {"RESYNC_SECONDS": "20", "SERVER_NAMESPACES": TEAM}
        region = Region(sandbox, NAMESPACE, tmp_path_factory.mktemp("region"), ("servers",), environment)
        region.install_chart(f"--set=servers.enabled=true,servers.namespaces={{{TEAM}}}")
        bed = ServersBed(region, cloud, proxy)
        bed.give_credentials()
        region.controllers.start()
        region.controllers.wait_healthy()
        region.controllers.supervise()
        stack.callback(region.controllers.stop, grace=2.0)
        _ensure_external_network(bed)
        _lift_quotas(bed)
        yield bed


def _ensure_external_network(bed: ServersBed) -> None:
    network = bed.sdk.network
    if network.find_network("public") is not None:
        return
    flat = {"provider:network_type": "flat", "provider:physical_network": "public"}
    public = network.create_network(name="public", is_router_external=True, **flat)
    network.create_subnet(network_id=public.id, ip_version=4, cidr="198.51.100.0/24", name="public")
    router = network.create_router(name="edge", external_gateway_info={"network_id": public.id})
    network.add_interface_to_router(router, subnet_id=network.find_subnet("sub0").id)


def _lift_quotas(bed: ServersBed) -> None:
    """Of what many servers at once have."""
    project = bed.sdk.identity.get_project(bed.sdk.current_project_id)
    bed.sdk.block_storage.update_quota_set(project, volumes=-1, gigabytes=-1)
    bed.sdk.network.update_quota(project.id, floatingip=-1)


@pytest.fixture
def servers(shared_servers: ServersBed) -> ServersBed:
    """With no OpenStackServer, the container running, and a proxy that lets everything pass."""
    shared_servers.clean()
    return shared_servers


@pytest.fixture
def team(servers: ServersBed) -> Iterator[ServersBed]:
    """The same cloud and container, and the servers of another namespace."""
    beside = servers.beside(TEAM)
    yield beside
    beside.clean()
