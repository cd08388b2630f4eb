"""Runs inside the cloud's virtual environment, with the cloud's OS_* variables: fills a new cloud.

seed.py accounts '{"nova": "http://…", …}'    users, roles, services, endpoints
seed.py ready cmp1,cmp2                       waits until these computes are up and mapped
seed.py fixtures                              quotas, an image, a network, flavors
"""

import json
import os
import pathlib
import sys
import time

import openstack

TYPES = {
    "placement": "placement",
    "nova": "compute",
    "glance": "image",
    "neutron": "network",
    "cinder": "block-storage",
}
READY_SECONDS = 300


def accounts(cloud, urls):
    identity, password = cloud.identity, os.environ["OS_PASSWORD"]
    roles = {role.name: role for role in identity.roles()}
    service_role = roles.get("service") or identity.create_role(name="service")
    project = identity.create_project(name="service", domain_id="default")
    for name, url in json.loads(urls).items():
        user = identity.create_user(name=name, password=password, domain_id="default")
        for role in (roles["admin"], service_role):
            identity.assign_project_role_to_user(project.id, user.id, role.id)
        service = identity.create_service(name=name, type=TYPES[name])
        for interface in ("public", "internal", "admin"):
            identity.create_endpoint(
                service_id=service.id,
                interface=interface,
                url=url,
                region_id=os.environ["OS_REGION_NAME"],
            )


def ready(cloud, hosts):
    wanted = set(hosts.split(","))
    deadline = time.monotonic() + READY_SECONDS
    while True:
        services = cloud.compute.services(binary="nova-compute")
        up = {one.host for one in services if one.state == "up"}
        mapped = {one.name for one in cloud.compute.hypervisors()}
        if wanted <= up & mapped:
            return
        if time.monotonic() > deadline:
            sys.exit(f"not ready: {sorted(wanted - up)} down, {sorted(wanted - mapped)} not mapped")
        time.sleep(0.5)


def fixtures(cloud):
    project = cloud.current_project_id
    admin = cloud.identity.get_project(project)
    cloud.compute.update_quota_set(admin, instances=-1, cores=-1, ram=-1, key_pairs=-1)
    cloud.network.update_quota(project, port=-1, network=-1, subnet=-1, router=-1)
    pathlib.Path("tiny.img").write_bytes(os.urandom(1 << 16))
    cloud.create_image(
        "tiny",
        filename="tiny.img",
        disk_format="raw",
        container_format="bare",
        visibility="public",
        wait=True,
    )
    network = cloud.network.create_network(name="net0", is_shared=True)
    cloud.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.10.0.0/16", name="sub0")
    # No host has as much as the last one wants.
    for name, megabytes, disk in (("small", 512, 1), ("large", 1 << 18, 500), ("huge", 1 << 22, 1)):
        cloud.compute.create_flavor(name=name, id=name, ram=megabytes, vcpus=1, disk=disk)


if __name__ == "__main__":
    command, *given = sys.argv[1:]
    {"accounts": accounts, "ready": ready, "fixtures": fixtures}[command](openstack.connect(), *given)
