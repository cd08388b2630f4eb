"""Runs in a pod of a region: what a user does first, up to a server; prints one line for each step."""

import io
import json
import time

import openstack

LONGEST_SECONDS = 300


def main() -> None:
    # A Service on a busy machine has no ready pod for a while: that is waited for.
    cloud = openstack.connect(cloud="default", connect_retries=8)
    began = time.monotonic()

    def tell(step: str, **seen: object) -> None:
        print(json.dumps({"step": step, "seconds": round(time.monotonic() - began, 1), **seen}), flush=True)

    tell("token", services=sorted(entry["type"] for entry in cloud.config.get_service_catalog().catalog))
    content = b"not a real disk" * 1000
    image = cloud.image.create_image(
        name="smoke", data=io.BytesIO(content), disk_format="raw", container_format="bare"
    )
    downloaded = cloud.image.download_image(cloud.image.get_image(image.id)).content
    tell("image", same=downloaded == content)
    network = cloud.network.create_network(name="smoke")
    subnet = cloud.network.create_subnet(network_id=network.id, ip_version=4, cidr="192.0.2.0/24")
    port = cloud.network.create_port(network_id=network.id)
    tell("port", address=port.fixed_ips[0]["ip_address"])
    flavor = cloud.compute.create_flavor(name="smoke", ram=64, vcpus=1, disk=1)
    server = cloud.compute.create_server(
        name="smoke", image_id=image.id, flavor_id=flavor.id, networks=[{"port": port.id}]
    )
    try:
        cloud.compute.wait_for_server(server, wait=LONGEST_SECONDS, failures=["ERROR"])
        server = cloud.compute.get_server(server.id)
        tell("server", status=server.status, host=server.hypervisor_hostname, fault=server.fault)
    finally:
        cloud.compute.delete_server(server.id)
        cloud.compute.wait_for_delete(server, wait=LONGEST_SECONDS)
        for remove in (
            lambda: cloud.network.delete_port(port.id),
            lambda: cloud.network.delete_subnet(subnet.id),
            lambda: cloud.network.delete_network(network.id),
            lambda: cloud.compute.delete_flavor(flavor.id),
            lambda: cloud.image.delete_image(image.id),
        ):
            remove()
    tell("gone")


main()
