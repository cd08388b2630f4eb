"""The region's own certificates on a real API server: pods are replaced once with each change, by Helm."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from controller.ports import kubernetes as kinds
from sandbox import audit
from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import NAME, Region, wait_until
from tests.reconcile.credentials.test_certificates import certificate

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("certificates")]

SECRET = "keystone-tls-api"
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: keystone-api}
spec:
  replicas: 2
  selector: {matchLabels: {app: keystone}}
  template:
    metadata:
      labels: {app: keystone}
      annotations: {openstackhelm.openstack.org/release_uuid: {{ .Values.release_uuid | default "" | quote }}}
    spec:
      containers:
        - name: nginx
          image: nginx
          volumeMounts: [{name: certs, mountPath: /etc/nginx/certs}]
      volumes: [{name: certs, secret: {secretName: keystone-tls-api}}]
"""


@pytest.fixture(scope="module")
def region(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    """Secrets and releases, and a chart of one Deployment that mounts a certificate as upstream's do.

    Each test leaves it running with the certificate that it has.
    """
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    place = tmp_path_factory.mktemp("certificates")
    (place / "charts" / "keystone" / "templates").mkdir(parents=True)
    chart = place / "charts" / "keystone"
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: keystone, version: 1.0.0}")
    (chart / "values.yaml").write_text("{release_uuid: ''}")
    (chart / "templates" / "deployment.yaml").write_text(DEPLOYMENT)
    passes = {"RESYNC_SECONDS": "5"}
    for one in installed(sandbox, namespace, place / "run", ("secrets", "helmbundle"), passes):
        charts = {"repository": f"file://{place / 'charts'}"}
        features = {"tls": {"internal": {"enabled": True}}, "compute": {"libvirtTLS": {"enabled": True}}}
        one.apply(one.manifest(charts=charts, preset="core", features=features))
        put_bundle(one, charts)
        yield one
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


def put_bundle(region: Region, charts: dict[str, str]) -> None:
    """As core would: the release refers to the digest of its certificate."""
    release: dict[str, Any] = {
        "name": "keystone",
        "chart": {"name": "keystone", "version": "1.0.0", **charts},
        "values": {"release_uuid": {"$secretRef": {"name": SECRET, "key": "digest"}}},
    }
    labels = {"osctl.dev/deployment": NAME, "osctl.dev/service": "identity"}
    meta = {"name": "identity", "namespace": region.namespace, "labels": labels}
    obj = {"apiVersion": "osctl.dev/v1alpha1", "kind": "HelmBundle", "metadata": meta}
    region.kubectl("apply", "-f", "-", input=json.dumps({**obj, "spec": {"releases": [release]}}))


def texts(region: Region, name: str) -> dict[str, str]:
    """Empty while it is not there."""
    data = (region.kube.get(kinds.SECRET, name, region.namespace) or {}).get("data") or {}
    return {key: base64.b64decode(text).decode() for key, text in data.items()}


def runs_with_it(region: Region) -> bool:
    """Whether the pods are those of the Secret as it is now."""
    found = region.get("deployments")["items"]
    if not found or "digest" not in texts(region, SECRET):
        return False
    status = found[0].get("status") or {}
    annotations = found[0]["spec"]["template"]["metadata"]["annotations"]
    whole = status.get("updatedReplicas") == status.get("readyReplicas") == status.get("replicas") == 2
    return bool(whole and texts(region, SECRET)["digest"] in annotations.values())


def is_new(region: Region, before: dict[str, str]) -> bool:
    return (
        "next.crt" not in texts(region, "osctl-authority")
        and texts(region, SECRET)["tls.crt"] != before["tls.crt"]
    )


def seen_edit(region: Region) -> None:
    """Edits the spec, and returns once a pass has looked at it."""
    drift = region.osdpl()["spec"].get("drift")
    region.edit(drift="Correct" if drift == "Warn" else "Warn")
    generation = region.osdpl()["metadata"]["generation"]
    wait_until(
        "the edit is seen",
        lambda: region.condition("SecretsExchanged").get("observedGeneration") == generation,
    )


def test_pods_are_replaced_once_for_each_step_of_a_change_of_authority(region: Region) -> None:
    logs = lambda: region.controllers.log("secrets") + region.controllers.log("helmbundle")  # noqa: E731
    wait_until("it runs", lambda: runs_with_it(region), show=logs)
    assert region.revisions() == {"keystone": (1, "deployed")}
    assert texts(region, "libvirt-tls")["servercert.pem"]  # for the addresses of Nodes, which it may list
    before = texts(region, SECRET)
    region.kubectl("delete", "secret", "osctl-authority")
    region.controllers.kill("secrets")
    region.controllers.start("secrets")
    wait_until("both are trusted", lambda: texts(region, SECRET)["ca.crt"].count("BEGIN") == 2, show=logs)
    assert texts(region, SECRET)["tls.crt"] == before["tls.crt"]
    wait_until("another one signs", lambda: is_new(region, before), show=logs)
    wait_until("it runs with that", lambda: runs_with_it(region), show=logs)
    assert region.revisions() == {"keystone": (3, "deployed")}
    assert region.get("deployment", "keystone-api")["metadata"]["generation"] == 3
    reasons = [
        one["reason"] for one in region.get("events")["items"] if one["reason"].startswith("Authority")
    ]
    assert sorted(reasons) == ["AuthorityChanges", "AuthorityChanges", "AuthorityLost"]


def test_a_secret_that_is_written_again_with_the_same_content_restarts_nothing(region: Region) -> None:
    wait_until("it runs", lambda: runs_with_it(region))
    before = region.revisions()
    region.controllers.restart("secrets")
    region.controllers.wait_healthy()
    moment = audit.now()
    region.kubectl("annotate", "secret", SECRET, "touched=once")
    seen_edit(region)
    assert not [one for one in region.writes_since(moment) if one.resource == "secrets"]
    assert region.revisions() == before


def test_a_certificate_that_has_ended_is_reported_by_an_event_and_once(region: Region) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": "ended", "annotations": {"cert-manager.io/certificate-name": "ended"}},
        "stringData": {"tls.crt": certificate("2024-01-02"), "tls.key": ""},
    }
    region.kubectl("apply", "-f", "-", input=json.dumps(secret))
    known = lambda: region.status().get("secrets", {}).get("ended", {})  # noqa: E731
    # Its contents are looked at once a minute; a new process looks at once.
    region.controllers.restart("secrets")
    wait_until("it is known", lambda: known().get("endsWithin") == "0d")
    region.controllers.restart("secrets")
    seen_edit(region)
    events = region.events("CertificateExpires")
    assert [(one["type"], one["count"]) for one in events] == [("Warning", 1)]
    assert 'the certificate in Secret "ended" ended on 2024-01-02' in events[0]["message"]
