"""What is made before an upgrade, and used after it: programs for the client's pod, which print JSON."""

from __future__ import annotations

MAKE = """
import json, openstack
cloud = openstack.connect(cloud="default")
project = cloud.identity.create_project(name="before", domain_id="default")
user = cloud.identity.create_user(name="before", password="before-the-upgrade", default_project_id=project.id)
image = cloud.image.create_image(name="before", data=b"x" * 65536, disk_format="raw", container_format="bare",
                                 wait=True, timeout=300)
network = cloud.network.create_network(name="before")
subnet = cloud.network.create_subnet(network_id=network.id, name="before", ip_version=4, cidr="10.77.0.0/24")
flavor = cloud.compute.create_flavor(name="before", ram=64, vcpus=1, disk=1)
server = cloud.compute.create_server(name="before", image_id=image.id, flavor_id=flavor.id,
                                     networks=[{"uuid": network.id}])
server = cloud.compute.wait_for_server(server, wait=600)
print(json.dumps({"server": server.id, "image": image.id, "network": network.id, "user": user.id,
                  "status": server.status}))
"""
USE = """
import json, openstack
cloud = openstack.connect(cloud="default")
found = {}
server = cloud.compute.find_server("before")
found["server"] = server.status
cloud.compute.reboot_server(server, "HARD")
found["rebooted"] = cloud.compute.wait_for_server(cloud.compute.find_server("before"), wait=600).status
image = cloud.image.find_image("before")
found["image"] = len(cloud.image.download_image(image).content)
network = cloud.network.find_network("before")
flavor = cloud.compute.find_flavor("before")
after = cloud.compute.create_server(name="after", image_id=image.id, flavor_id=flavor.id,
                                    networks=[{"uuid": network.id}])
found["after"] = cloud.compute.wait_for_server(after, wait=600).status
found["user"] = cloud.identity.find_user("before").is_enabled
for one in (server, after):
    cloud.compute.delete_server(one)
    cloud.compute.wait_for_delete(one, wait=300)
print(json.dumps(found))
"""
