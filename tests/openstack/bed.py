"""A region whose nodes cmp1..cmp3 are the hosts of a real OpenStack, and what tests do with both."""

from __future__ import annotations

import base64
import json
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import openstack
import yaml

from sandbox.openstack.cloud import AGENTS, Cloud
from sandbox.openstack.configuration import COMPUTES
from sandbox.openstack.services import compute_name
from tests.cluster.region import NAME, Region, wait_until

MARK = "osctl.dev: "
TOKEN = re.compile(r"osctl node disks-shared \S+ (\w+)$")
KWOK = "kwok.x-k8s.io/node"


def now() -> str:
    """The time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Bed:
    """One region in Kubernetes and one cloud. `sdk` is an administrator's connection to the latter."""

    def __init__(self, region: Region, cloud: Cloud) -> None:
        self.region = region
        self.cloud = cloud
        self._local = threading.local()

    @property
    def sdk(self) -> Any:
        """One connection for each thread."""
        if not hasattr(self._local, "sdk"):
            own = {"auth": self.cloud.credentials(), "region_name": "RegionOne"}
            self._local.sdk = openstack.connect(load_yaml_config=False, load_envvars=False, **own)
        return self._local.sdk

    # -- the region ---------------------------------------------------------------------------------

    def give_credentials(self, clouds: Any = None, **auth: str) -> None:
        """The Secret that the region exports; `auth` instead of what is right."""
        clouds = clouds or self.cloud.clouds()
        clouds["clouds"]["default"]["auth"].update(auth)
        content = base64.b64encode(yaml.safe_dump(clouds).encode()).decode()
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "openstack-clouds"},
            "data": {"clouds.yaml": content},
        }
        self.region.kubectl("apply", "-f", "-", input=json.dumps(secret))

    def node(self, name: str) -> dict[str, Any]:
        """What the region's status says of a node."""
        found: dict[str, Any] = (self.region.status().get("nodes") or {}).get(name) or {}
        return found

    def kubectl(self, *arguments: str) -> str:
        return self.region.sandbox.kubectl(*arguments)

    def set_ready(self, name: str, ready: bool) -> None:
        """Brings its kubelet, which KWOK plays, back, or makes it fall silent."""
        if ready:
            self.kubectl("annotate", "node", name, f"{KWOK}=fake", "--overwrite")
        else:
            # KWOK would make it Ready again at once.
            self.kubectl("annotate", "node", name, f"{KWOK}-")
        condition = {
            "type": "Ready",
            "status": "True" if ready else "Unknown",
            "reason": "KubeletReady" if ready else "NodeStatusUnknown",
            "message": "",
            "lastTransitionTime": now(),
            "lastHeartbeatTime": now(),
        }
        live = json.loads(self.kubectl("get", "node", name, "-o", "json"))
        conditions = live["status"].get("conditions") or []
        if any(one["type"] == "Ready" and one["status"] == condition["status"] for one in conditions):
            return
        patch = json.dumps({"status": {"conditions": [condition]}})
        self.kubectl("patch", "node", name, "--subresource=status", "--type=strategic", "-p", patch)

    def note(self, name: str) -> str:
        """An annotation of a Node by this region's controller."""
        return f"{self.region.namespace}.osctl.dev/{name}"

    def fence(self, name: str) -> None:
        """Confirms that its machine is off, as a person does without osctl (docs/nodes.md)."""
        ready = '{range .status.conditions[?(@.type=="Ready")]}/{.status}/{.lastHeartbeatTime}{end}'
        report = self.note("last-compute-report").replace(".", "\\.")
        shown = self.kubectl(
            "get",
            "node",
            name,
            "-o",
            f"jsonpath={{.metadata.uid}}/{{.status.nodeInfo.bootID}}{ready}/{{.metadata.annotations.{report}}}",
        )
        self.kubectl("annotate", "node", name, f"{self.note('fenced')}={shown}", "--overwrite")

    def maintain(self, name: str, node: str, **spec: Any) -> None:
        obj = {
            "apiVersion": "osctl.dev/v1alpha1",
            "kind": "ComputeMaintenance",
            "metadata": {"name": name},
            "spec": {
                "region": {"namespace": self.region.namespace, "name": NAME},
                "nodeName": node,
                **spec,
            },
        }
        self.region.sandbox.kubectl("apply", "-f", "-", input=json.dumps(obj))

    def confirm_disks(self, node: str) -> None:
        """A person's word that others reach the disks of its servers, with the token that a plan gives.

        They are in the memory of the fake driver, and no nova-compute of ours runs that would say so.
        """
        name = f"disks-of-{node}"
        self.maintain(name, node, mode="Evacuate", dryRun=True)
        servers = self.wait_phase(name, "Planned", timeout=120)["servers"]
        (token,) = {found[1] for one in servers if (found := TOKEN.search(one.get("message") or ""))}
        self.kubectl("annotate", "node", node, f"{self.note('disks-shared')}={token}", "--overwrite")
        self.kubectl("delete", "cmaint", name)

    def maintenance(self, name: str) -> dict[str, Any]:
        """Its status, empty while there is none."""
        text = self.kubectl("get", "cmaint", name, "-o", "json", "--ignore-not-found")
        found: dict[str, Any] = (json.loads(text).get("status") or {}) if text.strip() else {}
        return found

    def wait_phase(self, name: str, phase: str, timeout: float = 480.0) -> dict[str, Any]:
        def show() -> str:
            return f"{json.dumps(self.maintenance(name), indent=1)}\n{self.log()}"

        def there() -> bool:
            return self.maintenance(name).get("phase") == phase

        wait_until(f"maintenance {name} is {phase}", there, timeout, show)
        return self.maintenance(name)

    def wait_gone(self, name: str, timeout: float = 240.0) -> None:
        def gone() -> bool:
            return not self.kubectl("get", "cmaint", name, "-o", "name", "--ignore-not-found").strip()

        wait_until(f"maintenance {name} is gone", gone, timeout, self.log)

    def log(self) -> str:
        """The end of the container's log."""
        return self.region.controllers.log("node")[-3000:]

    # -- the cloud ----------------------------------------------------------------------------------

    def service(self, host: str) -> Any:
        """The compute service of a host, None where there is none."""
        return next(iter(self.sdk.compute.services(binary="nova-compute", host=host)), None)

    def wait_service(self, host: str, timeout: float = 300.0, **desired: Any) -> Any:
        """Until the compute service of a host has these attributes."""

        def fits() -> bool:
            service = self.service(host)
            return service is not None and all(getattr(service, k) == v for k, v in desired.items())

        def show() -> str:
            return f"{self.service(host)}\n{json.dumps(self.node(host), indent=1)}\n{self.log()}"

        wait_until(f"service of {host}: {desired}", fits, timeout, show)
        return self.service(host)

    def disable_by_hand(self, host: str, reason: str) -> None:
        self.sdk.compute.disable_service(self.service(host), disabled_reason=reason)

    def boot(self, count: int, host: str, *, networks: str = "none", **more: Any) -> list[Any]:
        """Active servers on a host."""

        def one(_: int) -> Any:
            sdk = self.sdk
            made = sdk.compute.create_server(
                name=f"vm-{secrets.token_hex(3)}",
                flavor_id=more.get("flavor", "small"),
                image_id=sdk.image.find_image("tiny").id,
                networks=networks,
                availability_zone=f"nova:{host}",
                metadata=more.get("metadata") or {},
            )
            return sdk.compute.wait_for_server(made, interval=0.5, wait=300)

        with ThreadPoolExecutor(5) as pool:
            return list(pool.map(one, range(count)))

    def servers(self, host: str = "") -> dict[str, Any]:
        """Servers by id, of one host or of all."""
        given = {"compute_host": host} if host else {}
        return {one.id: one for one in self.sdk.compute.servers(all_projects=True, **given)}

    def migrations(self, server: str) -> list[Any]:
        found = self.sdk.compute.migrations(instance_uuid=server)
        return sorted(found, key=lambda one: one.id)

    def clean(self) -> None:
        """As the cloud was: no servers, every host up and enabled, no maintenance."""
        kubectl = self.kubectl
        for name in kubectl("get", "cmaint", "-o", "name").split():
            kubectl("patch", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
            kubectl("delete", name, "--ignore-not-found", "--wait=false")
        for server in self.servers().values():
            self.sdk.compute.delete_server(server, force=True)
        wait_until("no server is left", lambda: not self.servers(), 240)
        for host in COMPUTES:
            self.cloud.set_agents(host, *(kind for kind in AGENTS if kind != "metadata"))
            self.cloud.start(compute_name(host))
        for host in COMPUTES:
            self._restore(host)

    def _restore(self, host: str) -> None:
        wait_until(f"{host} registered", lambda: self.service(host), 240)
        service = self.service(host)
        if service.is_forced_down:
            wait_until(f"{host} may be up", lambda: self._force_up(service), 240)
        self.wait_service(host, state="up")
        if self.service(host).status == "disabled":
            self.sdk.compute.enable_service(service)

    def _force_up(self, service: Any) -> bool:
        try:
            self.sdk.compute.update_service_forced_down(service, forced=False)
        except openstack.exceptions.SDKException:
            return False
        return True


def each(values: Iterable[Any], check: Callable[[Any], bool]) -> bool:
    """Whether there is at least one, and all pass."""
    listed = list(values)
    return bool(listed) and all(map(check, listed))


def spec_of(region: Region, **nodes: Any) -> Mapping[str, Any]:
    """The region's resource, with short times and `features.nodes`."""
    return region.manifest(features={"nodes": {"holdDown": "4s", "maxUnhealthy": "34%", **nodes}})


__all__ = ["MARK", "NAME", "Bed", "each", "now", "spec_of"]
