#!/usr/bin/env python3
"""Keep the label mariadb_role=primary on one ready server: the present one while it is ready, else the first."""

import json
import os
import pathlib
import signal
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
LABEL = "mariadb_role"
TIMEOUT = float(os.environ.get("MARIADB_CONTROLLER_PYKUBE_REQUEST_TIMEOUT", "60"))


def call(method: str, path: str, body: dict | None = None) -> dict:
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    host = f"[{host}]" if ":" in host else host
    request = urllib.request.Request(
        f"https://{host}:{os.environ.get('KUBERNETES_SERVICE_PORT', '443')}"
        f"/api/v1/namespaces/{os.environ['NAMESPACE']}/pods{path}",
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={
            "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
            "Content-Type": "application/merge-patch+json",
        },
    )
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, context=trusted, timeout=TIMEOUT) as answer:
        return json.load(answer)


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
        except OSError as error:
            print(f"the API server did not answer: {error}", file=sys.stderr, flush=True)
        time.sleep(float(os.environ.get("MARIADB_CONTROLLER_CHECK_PODS_DELAY", "10")))


if __name__ == "__main__":
    main()
