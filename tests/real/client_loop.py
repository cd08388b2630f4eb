"""Runs in a pod of a region: asks Nova's API until it is asked to stop, each time by a new connection.

Prints one line of JSON: how many requests there were, and of each that failed when and why.
"""

import json
import pathlib
import time

import openstack
import requests

LEAST = 1000
STOP = pathlib.Path("/tmp/stop")


def main() -> None:
    cloud = openstack.connect(cloud="default")
    url = f"{cloud.compute.get_endpoint()}/servers"
    headers = {"X-Auth-Token": cloud.auth_token}
    began, count, failed, longest = time.monotonic(), 0, [], 0.0
    STOP.unlink(missing_ok=True)
    while count < LEAST or not STOP.exists():
        asked = time.monotonic()
        try:
            answer = requests.get(url, headers=headers, timeout=60)
            cause = "" if answer.status_code == 200 else str(answer.status_code)
        except requests.RequestException as error:
            cause = type(error).__name__
        count += 1
        longest = max(longest, time.monotonic() - asked)
        if cause:
            failed.append((round(asked - began, 1), cause))
    print(json.dumps({"count": count, "failed": failed, "longest": round(longest, 1)}), flush=True)


main()
