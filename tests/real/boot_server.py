"""Runs in a pod of a region: a server boots the kernel in /guest, and is removed.

Prints one line of JSON: the seconds until it was ACTIVE and until its console said that the guest runs, and
the end of that console.
"""

import contextlib
import json
import time

import openstack

SAID = "the guest runs"
# QEMU does in software what a processor would, beside everything else.
BOOT_SECONDS = 420
ACTIVE_SECONDS = 300


def upload(cloud, made, name, format_, **more):
    image = cloud.create_image(name, disk_format=format_, container_format=format_, wait=True, **more)
    made.callback(cloud.delete_image, image.id)
    return image.id


def main() -> None:
    cloud = openstack.connect(cloud="default")
    with contextlib.ExitStack() as made:
        parts = {
            "kernel_id": upload(cloud, made, "kernel", "aki", filename="/guest/vmlinuz"),
            "ramdisk_id": upload(cloud, made, "initrd", "ari", filename="/guest/initrd"),
            "os_command_line": "console=ttyS0",
        }
        image = upload(cloud, made, "guest", "ami", data=b"\0" * 2**20, **parts)
        flavor = cloud.compute.create_flavor(name="guest", ram=192, vcpus=1, disk=1).id
        made.callback(cloud.compute.delete_flavor, flavor)
        asked = time.monotonic()
        server = cloud.compute.create_server(name="guest", image_id=image, flavor_id=flavor, networks="none")
        made.callback(cloud.delete_server, server.id, wait=True)
        server = cloud.compute.wait_for_server(server, wait=ACTIVE_SECONDS)
        active, text = time.monotonic() - asked, ""
        while SAID not in text and time.monotonic() - asked < BOOT_SECONDS:
            time.sleep(2)
            text = cloud.compute.get_server_console_output(server)["output"] or ""
        seen = {"active": active, "booted": time.monotonic() - asked, "console": text[-1000:]}
    print(json.dumps(seen), flush=True)


main()
