"""A server of S3 in a pod of a real node, with a certificate of its own authority, and an empty bucket."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.certificates import ensure_certificates
from sandbox.cluster import Sandbox
from sandbox.demo import NAMESPACE
from sandbox.images.build import ensure_image
from sandbox.images.oci import ImageConfig
from sandbox.images.recipes import BASE, Recipe
from sandbox.images.stages import Stage

PLACE, NAME, PORT = "backup-store", "s3", 7070
IMAGE = "sandbox.local/s3-server:1"
ACCESS, SECRET = "of-the-bucket", "secret-of-the-bucket"
CREDENTIALS, AUTHORITY = "backup-bucket", "backup-authority"
DESTINATION = {
    "endpoint": f"https://{NAME}.{PLACE}.svc:{PORT}",
    "bucket": "backups",
    "prefix": "region-one",
    "credentials": CREDENTIALS,
    "ca": AUTHORITY,
}


@contextmanager
def bucket(box: Sandbox, program: Path, scratch: Path) -> Iterator[dict[str, str]]:
    """The destination of backups, as the spec of a region has it; its Secrets are beside the region."""
    stage = Stage("s3-server", (BASE,), script="s3-server.sh", inputs=(program,))
    image = ensure_image(Recipe("s3-server", (BASE, stage), ImageConfig(("versitygw",))), print)
    box.images().load(image, [IMAGE])
    pki = scratch / "pki"
    ensure_certificates(pki, (f"{NAME}.{PLACE}.svc",))
    box.create_namespace(PLACE, {})
    files = {name: (pki / name).read_text() for name in ("server.crt", "server.key")}
    login = {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET}
    authority = {"ca.crt": (pki / "ca.crt").read_text()}
    own = (_secret("certificate", files), _secret("authority", authority))
    _apply(box, PLACE, *own, _service(), _pod())
    _apply(box, NAMESPACE, _secret(CREDENTIALS, login), _secret(AUTHORITY, authority))
    box.kubectl(
        "wait", "--namespace", PLACE, f"pod/{NAME}", "--for=condition=Ready", "--timeout=120s", timeout=180
    )
    try:
        yield DESTINATION
    finally:
        box.kubectl("delete", "namespace", PLACE, "--timeout=120s", timeout=180)
        names = (CREDENTIALS, AUTHORITY)
        box.kubectl("delete", "secret", *names, "--namespace", NAMESPACE, "--ignore-not-found")


def _apply(box: Sandbox, namespace: str, *objects: dict[str, Any]) -> None:
    whole = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    box.kubectl("apply", "--namespace", namespace, "-f", "-", input=json.dumps(whole))


def _secret(name: str, data: dict[str, str]) -> dict[str, Any]:
    coded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": coded}


def _service() -> dict[str, Any]:
    spec = {"selector": {"app": NAME}, "ports": [{"port": PORT}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": spec}


def _pod() -> dict[str, Any]:
    data = {"name": "data", "mountPath": "/data"}
    certificate = {"name": "certificate", "mountPath": "/certificate", "readOnly": True}
    serve = (
        f"exec versitygw --quiet --port :{PORT} --cert /certificate/server.crt --key /certificate/server.key"
    )
    server = {
        "name": "server",
        "image": IMAGE,
        "command": [
            "sh",
            "-c",
            f"mkdir -p /data/objects/backups /data/meta; {serve} posix --sidecar /data/meta /data/objects",
        ],
        "env": [{"name": "ROOT_ACCESS_KEY", "value": ACCESS}, {"name": "ROOT_SECRET_KEY", "value": SECRET}],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "volumeMounts": [data, certificate],
    }
    spec = {
        "terminationGracePeriodSeconds": 0,
        "containers": [server],
        "volumes": [
            {"name": "data", "emptyDir": {}},
            {"name": "certificate", "secret": {"secretName": "certificate"}},
        ],
    }
    meta = {"name": NAME, "labels": {"app": NAME}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
