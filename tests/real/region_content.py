"""Runs in a pod of a region: makes what projects have, or prints what there is, as its first argument says.

Prints one line of JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import openstack

IMAGE = b"an image" * 1000
PASSWORD = "of-one-user"


def make(name: str) -> dict[str, str]:
    """A project with a user that can log in, an image, a network, a key and a server, by this name."""
    cloud = openstack.connect(cloud="default")
    project = cloud.create_project(name=name, domain_id="default")
    user = cloud.create_user(name=name, password=PASSWORD, domain_id="default", default_project=project.id)
    cloud.grant_role("member", user=user.id, project=project.id)
    image = cloud.image.create_image(name=name, disk_format="raw", container_format="bare", data=IMAGE)
    network = cloud.network.create_network(name=name)
    cloud.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.9.0.0/24", name=name)
    cloud.compute.create_keypair(name=name)
    flavor = cloud.compute.find_flavor("backup") or cloud.compute.create_flavor(
        name="backup", ram=64, vcpus=1, disk=1
    )
    server = cloud.compute.create_server(
        name=name, flavor_id=flavor.id, image_id=image.id, networks=[{"uuid": network.id}]
    )
    cloud.compute.wait_for_server(server, wait=600)
    return {"token": cloud.auth_token}


def show() -> dict[str, list[Any]]:
    """Everything of the kinds that `make` makes, to be compared as a whole."""
    cloud = openstack.connect(cloud="default")
    found: dict[str, list[Any]] = {
        "projects": [(one.id, one.name) for one in cloud.identity.projects()],
        "users": [(one.id, one.name) for one in cloud.identity.users()],
        "images": [(one.id, one.name, one.checksum, one.status) for one in cloud.image.images()],
        "networks": [(one.id, one.name) for one in cloud.network.networks()],
        "ports": [(one.id, one.device_id, one.mac_address) for one in cloud.network.ports()],
        "servers": [
            (one.id, one.name, one.status, str(one.addresses))
            for one in cloud.compute.servers(all_projects=True)
        ],
        "keypairs": [(one.name, one.fingerprint) for one in cloud.compute.keypairs()],
    }
    return {kind: sorted(map(list, rows), key=str) for kind, rows in found.items()}


def use(name: str, token: str) -> dict[str, object]:
    """Whether the user can log in, the image has its data, and an older token is taken."""
    cloud = openstack.connect(cloud="default")
    auth = {
        "auth_url": cloud.config.auth["auth_url"],
        "username": name,
        "password": PASSWORD,
        "project_name": name,
        "user_domain_id": "default",
        "project_domain_id": "default",
    }
    own = openstack.connection.Connection(
        auth=auth, region_name=cloud.config.region_name, interface="internal"
    )
    try:
        data = cloud.image.download_image(cloud.image.find_image(name)).content
    except openstack.exceptions.SDKException:
        data = b""  # its volume is no part of a backup
    headers = {"X-Auth-Token": token, "X-Subject-Token": token}
    answer = cloud.session.get(
        f"{auth['auth_url'].rstrip('/').removesuffix('/v3')}/v3/auth/tokens",
        authenticated=False,
        headers=headers,
        raise_exc=False,
    )
    return {
        "user": own.current_project.name,
        "image": data == IMAGE,
        "token": answer.status_code,
    }


def main(words: list[str]) -> None:
    """With patience: a service that was just started answers a little later."""
    acts: dict[str, Callable[..., Any]] = {"make": make, "show": show, "use": use}
    act = acts[words[0]]
    for left in reversed(range(5)):
        try:
            found = act(*words[1:])
            break
        except openstack.exceptions.SDKException:
            if not left or act is make:
                raise
            time.sleep(3)
    print(json.dumps(found), flush=True)


main(sys.argv[1:])
