"""A region whose cluster is lost comes back in an empty one, from its bucket and a copy of its passphrase."""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Callable, Iterator

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo import NAMESPACE, REGION, install_chart
from sandbox.demo_real import run_smoke
from sandbox.images.build import ensure_image
from sandbox.images.recipes import RESTIC
from tests.openstack.s3_server import server_program
from tests.real.backups import RESTIC_IMAGE, asker, made_backup, send_backups
from tests.real.bucket import ACCESS, DESTINATION, PLACE, SECRET, bucket
from tests.real.region import client_pod, items, osctl, wait_ready, wait_until

pytestmark = [pytest.mark.real, pytest.mark.timeout(5400)]

MADE = f"lost-cluster-{secrets.token_hex(3)}"
PASSPHRASE = "region-backup-passphrase"


@pytest.fixture
def store(region: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """The region with backups in a bucket, which outlives it."""
    program = server_program()
    if program is None:
        pytest.skip("the S3 server is built by Go, and there is none")
    region.images().load(ensure_image(RESTIC, print), [RESTIC_IMAGE])
    wait_ready(region)
    with bucket(region, program, tmp_path_factory.mktemp("bucket")):
        yield region


def test_a_region_comes_back_in_an_empty_cluster(store: Sandbox, client: Callable[[str], str]) -> None:
    ask = asker(client)
    token = str(ask("make", MADE)["token"])
    send_backups(store, {"s3": DESTINATION}, "AWS_SHARED_CREDENTIALS_FILE")
    before = ask("show")
    made = made_backup(store)
    (kept,) = items(store, "secrets", f"--field-selector=metadata.name={PASSPHRASE}")
    passphrase = base64.b64decode(kept["data"]["passphrase"]).decode()
    lose_region(store)
    began = time.monotonic()
    files = fetched_files(store, passphrase)
    there = ("--namespace", NAMESPACE)
    text = f"--from-literal=passphrase={passphrase}"
    store.kubectl("create", "secret", "generic", PASSPHRASE, *there, text)
    store.kubectl("create", "-f", "-", input=files["secrets.json"])
    store.kubectl("create", "-f", "-", input=files["openstackdeployment.json"])
    wait_until(lambda: bool(items(store, "helmbundles")), "the region does not begin", 120)
    wait_ready(store)
    print(f"an empty region is Ready after {time.monotonic() - began:.0f} s")
    print(osctl(store, "restore", "into-new-cluster", "--backup", made, seconds=1800))
    wait_ready(store)
    print(f"all of it took {time.monotonic() - began:.0f} s")
    with client_pod(store, "after") as run:
        other = asker(run)
        assert other("use", MADE, token) == {"user": MADE, "image": False, "token": 200}
        assert other("show") == before
    run_smoke(store)


def lose_region(box: Sandbox) -> None:
    """Removes the region with its volumes, credentials and records; the controller is there anew."""
    box.kubectl("delete", "osdpl", REGION, "--namespace", NAMESPACE, "--timeout=900s", timeout=960)
    box.kubectl("delete", "namespace", NAMESPACE, "--timeout=300s", timeout=360)
    install_chart(box)


def fetched_files(box: Sandbox, passphrase: str) -> dict[str, str]:
    """The files of the newest backup, by restic alone."""
    env = {
        "RESTIC_REPOSITORY": f"s3:{DESTINATION['endpoint']}/{DESTINATION['bucket']}/{DESTINATION['prefix']}",
        "RESTIC_PASSWORD": passphrase,
        "AWS_ACCESS_KEY_ID": ACCESS,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }
    tag = f"region={NAMESPACE}/{REGION}"
    fetch = f"restic --no-cache --cacert /authority/ca.crt restore latest --tag {tag} --target /tmp/backup"
    container = {
        "name": "fetch",
        "image": RESTIC_IMAGE,
        "command": ["sh", "-c", f"{fetch} && touch /tmp/done && sleep 10000"],
        "env": [{"name": name, "value": value} for name, value in env.items()],
        "readinessProbe": {"exec": {"command": ["test", "-e", "/tmp/done"]}, "periodSeconds": 1},
        "volumeMounts": [{"name": "authority", "mountPath": "/authority"}],
    }
    spec = {
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": [{"name": "authority", "secret": {"secretName": "authority"}}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "fetch"}, "spec": spec}
    there = ("--namespace", PLACE)
    box.kubectl("apply", *there, "-f", "-", input=json.dumps(pod))
    box.kubectl("wait", *there, "pod/fetch", "--for=condition=Ready", "--timeout=120s", timeout=180)
    names = ("secrets.json", "openstackdeployment.json")
    return {name: box.kubectl("exec", *there, "fetch", "--", "cat", f"/tmp/backup/{name}") for name in names}
