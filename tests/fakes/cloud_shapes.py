"""What services of OpenStack answer, in their own shapes, from the facts of a FakeCloud.

The shapes are those of Nova's API samples (doc/api_samples: os-services 2.53, os-hypervisors 2.53 with
servers, servers 2.98, os-migrations 2.59, os-aggregates 2.41), of Neutron's, Cinder's and Placement's API
references, with all that they carry and no one reads: what is measured with them is as large as real ones.
"""

from __future__ import annotations

from typing import Any

from controller.domain.shared.cloud_facts import (
    Agent,
    Aggregate,
    ComputeService,
    Hypervisor,
    Migration,
    Server,
    VolumeService,
)

PROJECT = "6f70656e737461636b20342065766572"
THEN = "2026-01-01T00:00:00.000000"
REPORTED = {"L3 agent": "neutron-l3-agent", "DHCP agent": "neutron-dhcp-agent"}
TOPICS = {"L3 agent": "l3_agent", "DHCP agent": "dhcp_agent"}


def service(one: ComputeService) -> dict[str, Any]:
    return {
        "id": one.id,
        "binary": "nova-compute",
        "host": one.host,
        "zone": one.zone or "nova",
        "status": "enabled" if one.enabled else "disabled",
        "disabled_reason": one.reason or None,
        "state": "up" if one.up and not one.forced_down else "down",
        "forced_down": one.forced_down,
        "updated_at": THEN,
    }


def hypervisor(known: Hypervisor, servers: list[str], one: ComputeService) -> dict[str, Any]:
    host = known.host
    return {
        "id": f"provider-{host}",
        "hypervisor_hostname": host,
        "hypervisor_type": "QEMU",
        "hypervisor_version": 8002000,
        "host_ip": known.address,
        "state": "up" if one.up else "down",
        "status": "enabled" if one.enabled else "disabled",
        "service": {"id": one.id, "host": host, "disabled_reason": one.reason or None},
        "servers": [{"name": f"instance-{id_}", "uuid": id_} for id_ in servers],
        "cpu_info": {
            "arch": "x86_64",
            "model": "Cascadelake-Server-noTSX",
            "vendor": "Intel",
            "features": [f"feature{number}" for number in range(110)],
            "topology": {"cells": 2, "sockets": 1, "cores": 24, "threads": 2},
        },
        "current_workload": 0,
        "disk_available_least": 900,
        "free_disk_gb": 900,
        "free_ram_mb": 300000,
        "local_gb": 1028,
        "local_gb_used": 128,
        "memory_mb": 400000,
        "memory_mb_used": 100000,
        "running_vms": len(servers),
        "vcpus": 96,
        "vcpus_used": 40,
    }


def server(one: Server, url: str) -> dict[str, Any]:
    links = [{"rel": "self", "href": f"{url}/servers/{one.id}"}]
    properties = {"hw_disk_bus": "virtio", "hw_vif_model": "virtio", **one.image}
    image = {"id": "70a599e0-31e7-49b7-b260-868f441e862b", "links": links, "properties": properties}
    address = {"addr": "192.168.1.30", "OS-EXT-IPS-MAC:mac_addr": "00:0c:29:0d:11:74", "version": 4}
    return {
        "id": one.id,
        "name": one.name,
        "status": one.status,
        "tenant_id": PROJECT,
        "user_id": PROJECT,
        "metadata": dict(one.metadata),
        "hostId": "2091634baaccdc4c5a1d57069c833e402921df696b7f970791b12ec6",
        "image": image if one.local_disk else "",
        "flavor": {
            "vcpus": 1,
            "ram": one.memory,
            "disk": one.disk,
            "ephemeral": 0,
            "swap": 0,
            "original_name": "m1.tiny",
            "extra_specs": dict(one.extra_specs),
        },
        "created": THEN,
        "updated": THEN,
        "addresses": {"private": [{**address, "OS-EXT-IPS:type": "fixed"}]},
        "accessIPv4": "",
        "accessIPv6": "",
        "links": links,
        "OS-DCF:diskConfig": "AUTO",
        "progress": 0,
        "OS-EXT-AZ:availability_zone": "nova",
        "pinned_availability_zone": None,
        "config_drive": "",
        "key_name": None,
        "OS-SRV-USG:launched_at": THEN,
        "OS-SRV-USG:terminated_at": None,
        "security_groups": [{"name": "default"}],
        "OS-EXT-SRV-ATTR:host": one.host or None,
        "OS-EXT-SRV-ATTR:instance_name": f"instance-{one.id}",
        "OS-EXT-SRV-ATTR:hypervisor_hostname": one.host or None,
        "OS-EXT-SRV-ATTR:reservation_id": "r-l0i0clt2",
        "OS-EXT-SRV-ATTR:launch_index": 0,
        "OS-EXT-SRV-ATTR:hostname": one.name,
        "OS-EXT-SRV-ATTR:root_device_name": "/dev/vda",
        "OS-EXT-SRV-ATTR:user_data": None,
        "OS-EXT-STS:task_state": one.task or None,
        "OS-EXT-STS:vm_state": one.state or "active",
        "OS-EXT-STS:power_state": 1,
        "os-extended-volumes:volumes_attached": [
            {"id": f"volume-{number}", "delete_on_termination": False} for number in range(one.volumes)
        ],
        "host_status": "UP",
        "locked": False,
        "locked_reason": None,
        "description": None,
        "tags": [],
        "trusted_image_certificates": None,
        "server_groups": [],
    }


def migration(one: Migration) -> dict[str, Any]:
    return {
        "id": one.id,
        "uuid": f"migration-{one.id}",
        "instance_uuid": one.server,
        "migration_type": one.kind,
        "status": one.status,
        "source_compute": one.source,
        "source_node": one.source,
        "dest_compute": one.target,
        "dest_node": one.target,
        "dest_host": None,
        "old_instance_type_id": 1,
        "new_instance_type_id": 1,
        "created_at": THEN,
        "updated_at": THEN,
        "user_id": PROJECT,
        "project_id": PROJECT,
    }


def aggregate(one: Aggregate, mark: str) -> dict[str, Any]:
    metadata = ({"availability_zone": one.zone} if one.zone else {}) | ({mark: "true"} if one.ours else {})
    return {
        "id": one.id,
        "uuid": f"aggregate-{one.id}",
        "name": one.name,
        "availability_zone": one.zone or None,
        "hosts": sorted(one.hosts),
        "metadata": metadata,
        "created_at": THEN,
        "updated_at": None,
        "deleted": False,
        "deleted_at": None,
    }


def agent(one: Agent, load: int) -> dict[str, Any]:
    configurations: dict[str, Any] = {"log_agent_heartbeats": False}
    if one.kind == "DHCP agent":
        counted = {"networks": load, "subnets": load, "ports": 3 * load}
        configurations |= {"dhcp_driver": "neutron.agent.linux.dhcp.Dnsmasq", "dhcp_lease_duration": 86400}
        configurations |= counted
    if one.kind == "L3 agent":
        configurations |= {"agent_mode": one.mode or "legacy", "handle_internal_only_routers": True}
        configurations |= {"routers": load, "ex_gw_ports": load, "interfaces": load, "floating_ips": 0}
    if one.address:
        configurations |= {"tunneling_ip": one.address, "tunnel_types": ["vxlan"]}
    return {
        "id": one.id,
        "agent_type": one.kind,
        "binary": REPORTED.get(one.kind, "neutron-openvswitch-agent"),
        "topic": TOPICS.get(one.kind, "N/A"),
        "host": one.host,
        "admin_state_up": one.enabled,
        "alive": one.alive,
        "availability_zone": "nova",
        "description": one.description or None,
        "configurations": configurations,
        "resource_versions": {},
        "resources_synced": None,
        "created_at": THEN,
        "started_at": THEN,
        "heartbeat_timestamp": THEN,
    }


def network(id_: str) -> dict[str, Any]:
    return {
        "id": id_,
        "name": id_,
        "status": "ACTIVE",
        "admin_state_up": True,
        "tenant_id": PROJECT,
        "project_id": PROJECT,
        "subnets": [],
        "mtu": 1450,
        "shared": False,
        "router:external": False,
        "provider:network_type": "vxlan",
        "provider:physical_network": None,
        "provider:segmentation_id": 1,
    }


def router(id_: str) -> dict[str, Any]:
    named = {"id": id_, "name": id_, "status": "ACTIVE", "admin_state_up": True, "tenant_id": PROJECT}
    return {**named, "external_gateway_info": None, "routes": [], "ha": False, "distributed": False}


def volume_service(one: VolumeService) -> dict[str, Any]:
    return {
        "binary": one.binary,
        "host": one.name,
        "zone": one.zone or "nova",
        "status": "enabled" if one.enabled else "disabled",
        "state": "up" if one.up else "down",
        "updated_at": THEN,
        "disabled_reason": one.reason or None,
        "replication_status": "disabled",
        "active_backend_id": None,
        "frozen": False,
        "cluster": None,
    }
