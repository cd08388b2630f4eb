"""One installation of our chart in a namespace, its containers as real processes, and one region in it."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.ports.kubernetes import (
    CONFIGMAP,
    DEPLOYMENT,
    HELMBUNDLE,
    JOB,
    NODE,
    OSDPL,
    POD,
    PVC,
    SECRET,
)
from sandbox import audit
from sandbox.cluster import Sandbox
from sandbox.controllers import Controllers
from sandbox.errors import SandboxError
from sandbox.patience import Patience, patient

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "openstack-controller"
CRDS = CHART / "files" / "crds"
EXAMPLE = CHART / "examples" / "core-single.yaml"
DEFINED = "definitions-of-tests"
NAME = "region-one"
RELEASES = {
    *("mariadb", "rabbitmq", "memcached", "keystone", "placement", "glance"),
    *("openvswitch", "libvirt", "nova", "neutron"),
}
# Services that a test can do without, and the releases that are left then.
WITHOUT_COMPUTE = ("compute", "image")
RELEASES_WITHOUT_COMPUTE = RELEASES - {"glance", "libvirt", "nova"}
WITHOUT_NETWORK = ("compute", "networking", "placement")
RELEASES_WITHOUT_NETWORK = RELEASES - {"placement", "openvswitch", "libvirt", "nova", "neutron"}
WITHOUT_IMAGES = ("compute", "networking", "image")
RELEASES_WITHOUT_IMAGES = RELEASES - {"glance", "openvswitch", "libvirt", "nova", "neutron"}
CONTAINERS = ("core", "helmbundle", "health", "secrets", "node")
# What tests ask for most often, by the names that they give to kubectl.
RESOURCES = {
    **{"osdpl": OSDPL, "hb": HELMBUNDLE, "node": NODE, "nodes": NODE, "pods": POD, "configmap": CONFIGMAP},
    **{"secret": SECRET, "secrets": SECRET, "job": JOB, "jobs": JOB, "deployment": DEPLOYMENT},
    **{"pvc": PVC, "persistentvolumeclaims": PVC},
}


class NeverHappened(AssertionError):
    """A wait reached its deadline."""


def wait_until(
    what: str, check: Callable[[], Any], timeout: float = 300.0, show: Callable[[], str] = str
) -> Any:
    """The first true result of `check`; NeverHappened with `show()` after `timeout` seconds.

    They are those of a quiet machine (sandbox/patience.py). What takes long is asked for more seldom:
    questions are processes, and others work meanwhile.
    """
    began, patience = time.monotonic(), Patience(timeout)
    while True:
        if result := check():
            return result
        waited = time.monotonic() - began
        if patience.is_over():
            raise NeverHappened(f"{what}: not within {waited:.0f} s\n{show()}")
        time.sleep(min(0.5, 0.2 + waited / 40))


def within(seconds: float) -> str:
    """The same time for the option `--timeout` of a command: as long as it may take here and now."""
    return f"{patient(seconds):.0f}s"


@dataclass
class Region:
    """What a test does with a region: as a person would, through kubectl, helm and signals."""

    sandbox: Sandbox
    namespace: str
    directory: Path
    containers: tuple[str, ...] = CONTAINERS
    environment: Mapping[str, str] = field(default_factory=dict)
    began: datetime = field(default_factory=audit.now)

    def __post_init__(self) -> None:
        self.controllers = Controllers(
            self.sandbox,
            self.namespace,
            self.directory,
            containers=self.containers,
            environment=self.environment,
            die_with_parent=True,
            service_account=f"osctl-{self.namespace}",
        )

    def install(self) -> None:
        """Our definitions, our chart, our containers."""
        self.install_chart()
        self.controllers.start()
        self.controllers.wait_healthy()
        self.controllers.supervise()

    def install_chart(self, *settings: str) -> None:
        """Our definitions and our chart, with further arguments of helm."""
        self._define()
        # The release's name is in the names of cluster-wide objects: one per namespace.
        name = f"osctl-{self.namespace}"
        own = f"region.namespace={self.namespace},crds.install=false"
        self.helm("upgrade", "--install", name, str(CHART), "--set", own, *settings)

    def _define(self) -> None:
        """Our definitions, once a cluster, as that takes seconds: a ConfigMap says which it has."""
        texts = [path.read_bytes() for path in sorted(CRDS.glob("*.yaml"))]
        digest = hashlib.sha256(b"".join(texts)).hexdigest()
        known = self.kube.get(CONFIGMAP, DEFINED, "default") or {}
        if known.get("data") == {"digest": digest}:
            return
        crds = f"--filename={CRDS}"
        self.sandbox.kubectl("apply", "--server-side", "--force-conflicts", crds)
        # A server that has just begun takes a moment to serve a new kind.
        self.sandbox.kubectl("wait", "--for=condition=Established", "--timeout=500s", crds)
        meta = {"name": DEFINED, "namespace": "default"}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"digest": digest}}
        self.kube.apply(body, manager="test")

    def helm(self, *arguments: str) -> str:
        command = [str(self.sandbox.helm), "--kubeconfig", str(self.sandbox.kubeconfig)]
        command += ["--namespace", self.namespace, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=patient(300), check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kubectl(self, *arguments: str, input: str | None = None) -> str:
        return self.sandbox.kubectl("--namespace", self.namespace, *arguments, input=input)

    @cached_property
    def kube(self) -> PykubeClient:
        """As administrator, within this process: kubectl takes a tenth of a second of processor time."""
        connection = connect(self.sandbox.kubeconfig)
        return PykubeClient(connection, user_agent="test", read_timeout=120.0, retries_within=120.0)

    def get(self, kind: str, *arguments: str) -> dict[str, Any]:
        """What `kubectl get` gives as JSON. Raises SandboxError where the named object is not there."""
        resource = RESOURCES.get(kind)
        namespace = self.namespace if resource and resource.namespaced else None
        match arguments:
            case () if resource:
                return {"items": self.kube.list(resource, namespace)}
            case ("-l", labels) if resource:
                return {"items": self.kube.list(resource, namespace, labels=labels)}
            case (name,) if resource:
                live = self.kube.get(resource, name, namespace)
                if live is None:
                    raise SandboxError(f"{kind} {name}: NotFound")
                return live
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, *arguments, "-o", "json"))
        return found

    def manifest(self, **spec: Any) -> dict[str, Any]:
        """The example that `make demo` applies, in this namespace, with some fields of its spec replaced."""
        osdpl: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
        osdpl["metadata"]["namespace"] = self.namespace
        osdpl["spec"].update(spec)
        return osdpl

    def smaller(self, disabled: tuple[str, ...], **spec: Any) -> dict[str, Any]:
        """The same without these services: a test that asks nothing of them costs half."""
        osdpl = self.manifest(**spec)
        osdpl["spec"]["features"] = {
            **(osdpl["spec"].get("features") or {}),
            "services": {"disabled": list(disabled)},
        }
        return osdpl

    def apply(self, osdpl: Mapping[str, Any] | None = None) -> None:
        self.kubectl("apply", "-f", "-", input=json.dumps(osdpl or self.manifest()))

    def edit(self, **spec: Any) -> None:
        self.kubectl("patch", "osdpl", NAME, "--type=merge", "-p", json.dumps({"spec": spec}))

    def put_back(self, **spec: Any) -> None:
        """These fields as a whole; None takes one away. An edit would merge what is beside."""
        for key, value in spec.items():
            gone = {"op": "remove", "path": f"/spec/{key}"}
            step = gone if value is None else {"op": "add", "path": f"/spec/{key}", "value": value}
            self.kubectl("patch", "osdpl", NAME, "--type=json", "-p", json.dumps([step]))

    def osdpl(self) -> dict[str, Any]:
        return self.get("osdpl", NAME)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.osdpl().get("status") or {}
        return found

    def condition(self, type_: str, name: str = NAME) -> dict[str, Any]:
        status = self.get("osdpl", name).get("status") or {}
        entries = (entry for entry in status.get("conditions") or [] if entry["type"] == type_)
        return next(entries, {})

    def events(self, reason: str) -> list[dict[str, Any]]:
        return [event for event in self.get("events")["items"] if event["reason"] == reason]

    def ready(self) -> bool:
        osdpl = self.osdpl()
        entries = (osdpl.get("status") or {}).get("conditions") or []
        entry = next((entry for entry in entries if entry["type"] == "Ready"), {})
        current = entry.get("observedGeneration") == osdpl["metadata"]["generation"]
        return bool(current and entry.get("status") == "True")

    def wait_ready(self, timeout: float = 600.0) -> None:
        def show() -> str:
            status = self.status()
            logs = "\n".join(self.controllers.log(name)[-1500:] for name in self.containers)
            return f"{json.dumps(status, indent=1)}\n{logs}"

        wait_until("Ready", self.ready, timeout, show)

    def revisions(self) -> dict[str, tuple[int, str]]:
        """Newest revision of every release of the region and its status, from Helm's own records."""
        newest: dict[str, tuple[int, str]] = {}
        # All of it is in the labels: the records themselves are megabytes, and this is asked in every wait.
        for record in self.kube.list_metadata(SECRET, self.namespace, labels="owner=helm"):
            labels = record["metadata"]["labels"]
            version = int(labels["version"])
            if version > newest.get(labels["name"], (0, ""))[0]:
                newest[labels["name"]] = (version, labels["status"])
        newest.pop(f"osctl-{self.namespace}", None)
        return newest

    @property
    def users(self) -> tuple[str, str]:
        """The controller, and the account that charts act as, to the API server."""
        own = f"system:serviceaccount:{self.namespace}:osctl-{self.namespace}"
        return own, f"{own}-charts"

    def writes_since(self, moment: datetime) -> list[audit.Write]:
        """Writes of the controller and of charts, without leases and dry runs, events counted."""
        return audit.writes(self.sandbox.audit_log, moment, self.users, events=True)

    def secret_texts(self) -> dict[str, str]:
        """Every generated credential, decoded, by `<Secret>/<key>`."""
        secrets = self.get("secrets", "-l", "app.kubernetes.io/managed-by=openstack-controller")["items"]
        return {
            f"{secret['metadata']['name']}/{key}": base64.b64decode(text).decode("utf-8", "replace")
            for secret in secrets
            for key, text in (secret.get("data") or {}).items()
            if secret["metadata"]["name"].endswith("-credentials")
        }

    def claims(self) -> set[str]:
        return {item["metadata"]["name"] for item in self.get("pvc")["items"]}
