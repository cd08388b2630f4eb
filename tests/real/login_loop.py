"""Runs in a pod of a region: asks Keystone and Glance in turn until it is to stop, each by a new connection.

Prints one line of JSON: how many requests there were of each, and of each that failed when and why.
"""

import json
import pathlib
import time

import openstack
import requests

STOP, ASKS = pathlib.Path("/tmp/stop"), pathlib.Path("/tmp/asks")


def main() -> None:
    cloud = openstack.connect(cloud="default")
    headers = {"X-Auth-Token": cloud.auth_token}
    identity, image = (cloud.endpoint_for(name).rstrip("/") for name in ("identity", "image"))
    urls = {
        "keystone": f"{identity.removesuffix('/v3')}/v3/projects",
        "glance": f"{image.removesuffix('/v2')}/v2/images",
    }
    began, count, failed = time.monotonic(), dict.fromkeys(urls, 0), []
    STOP.unlink(missing_ok=True)
    while not STOP.exists():
        for name, url in urls.items():
            asked = time.monotonic()
            try:
                answer = requests.get(url, headers=headers, timeout=60)
                cause = "" if answer.status_code == 200 else str(answer.status_code)
            except requests.RequestException as error:
                cause = type(error).__name__
            count[name] += 1
            ASKS.touch()
            if cause:
                failed.append((round(asked - began, 1), name, cause))
        time.sleep(0.1)
    print(json.dumps({"count": count, "failed": failed}), flush=True)


main()
