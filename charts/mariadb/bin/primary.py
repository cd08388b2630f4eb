#!/usr/bin/env python3
"""Keep the label mariadb_role=primary on one ready server: the present one while it is ready, else the first."""

import http.client
import os
import signal
import sys
import time
import urllib.parse

import kube_api

LABEL = "mariadb_role"
TIMEOUT = float(os.environ.get("MARIADB_CONTROLLER_PYKUBE_REQUEST_TIMEOUT", "60"))


def call(method: str, path: str, body: dict | None = None) -> dict:
    return kube_api.call(method, f"pods{path}", body, timeout=TIMEOUT)


def ready(pod: dict) -> bool:
    conditions = pod.get("status", {}).get("conditions") or []
    return "deletionTimestamp" not in pod["metadata"] and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def role(pod: dict) -> str | None:
    return pod["metadata"]["labels"].get(LABEL)


def settle() -> None:
    selector = urllib.parse.quote(os.environ["POD_SELECTOR"])
    pods = sorted(call("GET", f"?labelSelector={selector}")["items"], key=lambda pod: pod["metadata"]["name"])
    able = [pod for pod in pods if ready(pod)]
    if not able:
        return
    chosen = next((pod for pod in able if role(pod) == "primary"), able[0])
    # The others first: two primaries at once are worse than none for a moment.
    for pod in sorted(pods, key=lambda pod: pod is chosen):
        wanted = "primary" if pod is chosen else "secondary"
        if role(pod) != wanted:
            call("PATCH", f"/{pod['metadata']['name']}", {"metadata": {"labels": {LABEL: wanted}}})
            print(f"{pod['metadata']['name']} is {wanted}", flush=True)


def end(*_: object) -> None:
    sys.exit(143)


def main() -> None:
    # Process 1 of a container gets no signal that it does not handle.
    signal.signal(signal.SIGTERM, end)
    while True:
        try:
            settle()
        except (OSError, ValueError, http.client.HTTPException) as error:
            print(f"the API server did not answer: {error}", file=sys.stderr, flush=True)
        time.sleep(float(os.environ.get("MARIADB_CONTROLLER_CHECK_PODS_DELAY", "10")))


if __name__ == "__main__":
    main()
