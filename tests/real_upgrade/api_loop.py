"""Runs in a pod of a region: asks every API in turn until it is to stop, each time by a new connection.

Each API has a thread. Prints one line of JSON: how many requests there were of each, and of each that failed
and why. A token is renewed every few minutes. A request that is refused for its token counts as failed.
"""

import json
import pathlib
import threading
import time

import openstack
import requests

STOP, ASKS = pathlib.Path("/tmp/stop"), pathlib.Path("/tmp/asks")
RENEWED_EVERY = 300.0


class Clouds:
    """Tokens and addresses, from one connection."""

    def __init__(self) -> None:
        self.cloud = openstack.connect(cloud="default")
        names = ("identity", "image", "placement", "compute", "network")
        ends = {name: self.cloud.endpoint_for(name).rstrip("/") for name in names}
        self.urls = {
            "keystone": f"{ends['identity'].removesuffix('/v3')}/v3/projects",
            "glance": f"{ends['image'].removesuffix('/v2')}/v2/images",
            "placement": f"{ends['placement']}/resource_providers",
            "nova": f"{ends['compute']}/servers/detail",
            "neutron": f"{ends['network'].removesuffix('/v2.0')}/v2.0/networks",
        }
        self.token, self.since = self.cloud.auth_token, time.monotonic()

    def headers(self) -> dict[str, str]:
        if time.monotonic() - self.since > RENEWED_EVERY:
            self.cloud.session.invalidate()
            self.token, self.since = self.cloud.session.get_token(), time.monotonic()
        return {"X-Auth-Token": self.token, "Connection": "close"}


def ask(
    clouds: Clouds, name: str, began: float, count: dict[str, int], failed: list[tuple[float, str, str]]
) -> None:
    while not STOP.exists():
        asked = time.monotonic()
        try:
            answer = requests.get(clouds.urls[name], headers=clouds.headers(), timeout=60)
            cause = "" if answer.status_code == 200 else f"{answer.status_code} {answer.text[:200]}"
        except Exception as error:  # whatever it is: the client has no answer
            cause = f"{type(error).__name__}: {error}"[:300]
        count[name] += 1
        if cause:
            failed.append((round(asked - began, 1), name, cause))
        ASKS.touch()
        time.sleep(0.25)


def main() -> None:
    clouds = Clouds()
    STOP.unlink(missing_ok=True)
    began, count = time.monotonic(), dict.fromkeys(clouds.urls, 0)
    failed: list[tuple[float, str, str]] = []
    threads = [
        threading.Thread(target=ask, args=(clouds, name, began, count, failed)) for name in clouds.urls
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(
        json.dumps({"seconds": round(time.monotonic() - began), "count": count, "failed": failed}), flush=True
    )


main()
