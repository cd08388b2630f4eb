#!/usr/bin/env python3
"""Fill or rotate a key repository of Keystone that lives in a Secret: keys.py fernet|credential setup|rotate.

The Secret is the truth. Keys are made by keystone-manage in a scratch directory and written back with the
Secret's resourceVersion, so that of two writers one fails and repeats.
"""

import base64
import os
import pathlib
import subprocess
import sys
import time

import kube_api

REPOSITORY = pathlib.Path(os.environ["KEY_REPOSITORY"])


def call(method: str, body: dict | None = None) -> dict:
    return kube_api.call(method, f"secrets/{os.environ['KEY_SECRET']}", body, timeout=30)


def keystone_manage(*arguments: str) -> None:
    subprocess.run(
        ["keystone-manage", "--config-file=/etc/keystone/keystone.conf", *arguments],
        check=True,
        timeout=600,
    )


def owned(command: str) -> None:
    keystone_manage(
        command, "--keystone-user", os.environ["KEY_USER"], "--keystone-group", os.environ["KEY_GROUP"]
    )


def unpack(data: dict[str, str]) -> None:
    REPOSITORY.mkdir(parents=True, exist_ok=True)
    for left in [key for key in REPOSITORY.iterdir() if key.name.isdigit()]:
        left.unlink()  # of a rotation in this pod that could not write back
    for name, value in data.items():
        key = REPOSITORY / name
        key.touch(mode=0o600)
        key.write_bytes(base64.b64decode(value))


def write_back(secret: dict) -> None:
    made = {
        key.name: base64.b64encode(key.read_bytes()).decode()
        for key in REPOSITORY.iterdir()
        if key.name.isdigit()
    }
    gone = dict.fromkeys(set(secret.get("data") or {}) - set(made))
    version = secret["metadata"]["resourceVersion"]
    call("PATCH", {"metadata": {"resourceVersion": version}, "data": {**made, **gone}})
    print(f"{os.environ['KEY_SECRET']} holds {len(made)} keys")


def main() -> int:
    kind, action = sys.argv[1:3]
    secret = call("GET")
    if action == "setup":
        if secret.get("data"):
            print(f"{os.environ['KEY_SECRET']} has its keys already")
            return 0
        owned(f"{kind}_setup")
        write_back(secret)
        return 0
    unpack(secret.get("data") or {})
    if kind == "credential":
        # Keystone rotates only when every credential is encrypted with the newest key. Where the last rotation was
        # killed while it waited below, that is still to be done.
        owned("credential_migrate")
    owned(f"{kind}_rotate")
    write_back(secret)
    if kind == "credential":
        # The running services have to see the new key before credentials are encrypted with it.
        time.sleep(int(os.environ.get("MIGRATE_WAIT_SECONDS", "120")))
        owned("credential_migrate")
    return 0


if __name__ == "__main__":
    sys.exit(main())
