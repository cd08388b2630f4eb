"""A MachineSet of the machine API, converted, and one machine of it on a real OpenStack."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cli.objects import osctl
from tests.domain.machines.sources import machine_set
from tests.openstack.servers.bed import ServersBed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    pytest.mark.timeout(1500),
]


def test_a_machine_of_a_converted_set_boots(servers: ServersBed, tmp_path: Path) -> None:
    sdk, namespace = servers.sdk, servers.namespace
    group = sdk.compute.create_server_group(name="workers", policy="soft-anti-affinity")
    key = sdk.compute.create_keypair(name="installers")
    servers.give_secret("openstack-cloud-credentials", clouds_yaml=servers.clouds())
    servers.give_secret("worker-user-data", userData=b'{"ignition": {"version": "3.4.0"}}')
    file = tmp_path / "sets.yaml"
    source = machine_set(
        **{
            "set.metadata.namespace": namespace,
            "set.metadata.labels": {"machine.openshift.io/cluster-api-cluster": "ocp-x7k2p"},
            "provider.cloudName": "default",
            "provider.flavor": "small",
            "provider.image": "",
            "provider.keyName": key.name,
            "provider.availabilityZone": "nova",
            "provider.serverGroupName": group.name,
            "provider.rootVolume": {"diskSize": 1, "sourceUUID": "tiny"},
            "provider.additionalBlockDevices": [
                {"name": "etcd", "sizeGiB": 1, "storage": {"type": "Volume", "volume": {}}}
            ],
            # As installers write it: an empty filter, and the nodes' subnet.
            "provider.networks": [
                {"filter": {}, "subnets": [{"filter": {"name": "sub0"}}], "noAllowedAddressPairs": True}
            ],
            "provider.securityGroups": [{"name": "default"}],
            "provider.trunk": True,
            "provider.tags": ["openshiftClusterID=ocp-x7k2p"],
            "provider.serverMetadata": {"openshiftClusterID": "ocp-x7k2p"},
            "provider.configDrive": True,
        }
    )
    file.write_text(yaml.safe_dump(source), encoding="utf-8")
    try:
        converted = osctl("machines", "convert", str(file), "--as-server", "-n", namespace)
        assert converted.exit_code == 0, converted.stderr
        servers.kubectl("apply", "--validate=strict", "-f", "-", input=converted.stdout)
        servers.wait_ready("workers-a")
        found = servers.of(servers.uid("workers-a"))
        made = sdk.compute.get_server(found["servers"][0].id)
        assert made.tags and "openshiftClusterID=ocp-x7k2p" in made.tags
        assert (made.key_name, made.availability_zone) == (key.name, "nova") and made.has_config_drive
        assert made.metadata["openshiftClusterID"] == "ocp-x7k2p"
        assert made.id in sdk.compute.get_server_group(group).member_ids
        subnet = sdk.network.find_subnet("sub0")
        assert [one["subnet_id"] for one in found["ports"][0].fixed_ips] == [subnet.id]
        assert [one.port_id for one in found["trunks"]] == [found["ports"][0].id]
        assert {one.name: (one.status, one.is_bootable) for one in found["volumes"]} == {
            "workers-a-root": ("in-use", True),
            "workers-a-etcd": ("in-use", False),
        }
    finally:
        servers.clean()
        sdk.compute.delete_server_group(group)
        sdk.compute.delete_keypair(key)
