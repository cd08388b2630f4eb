"""A namespace whose OpenStackServers the real container serves, and a real OpenStack behind a proxy."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import openstack
import yaml

from controller.domain.servers.cloud_resources import METADATA_KEY, mark_of
from controller.ports.kubernetes import SERVER, KubeObject
from sandbox.openstack.cloud import Cloud
from tests.api.definitions import server
from tests.cluster.region import Region, wait_until
from tests.openstack.proxy import Proxy, no_rule

NETWORK = {"network": {"filter": {"name": "net0"}}}


class ServersBed:
    """`sdk` is the administrator's connection, past the proxy."""

    def __init__(self, region: Region, cloud: Cloud, proxy: Proxy) -> None:
        self.region = region
        self.cloud = cloud
        self.proxy = proxy
        self._local = threading.local()

    @property
    def sdk(self) -> Any:
        if not hasattr(self._local, "sdk"):
            own = {"auth": self.cloud.credentials(), "region_name": "RegionOne"}
            self._local.sdk = openstack.connect(load_yaml_config=False, load_envvars=False, **own)
        return self._local.sdk

    # -- Kubernetes ---------------------------------------------------------------------------------

    def give_secret(self, name: str, **data: bytes) -> None:
        encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()}
        obj = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": encoded}
        self.region.kubectl("apply", "-f", "-", input=json.dumps(obj))

    def give_credentials(self, **auth: str) -> None:
        clouds = self.proxy.clouds()
        clouds["clouds"]["default"]["auth"].update(auth)
        self.give_secret("openstack-clouds", clouds_yaml=yaml.safe_dump(clouds).encode())

    def create(self, name: str, **spec: Any) -> None:
        obj = server(name, **spec)
        obj["metadata"]["namespace"] = self.region.namespace
        self.region.kube.create(obj)

    def edit(self, name: str, **spec: Any) -> None:
        self.region.kube.merge_patch(SERVER, name, self.region.namespace, {"spec": spec})

    def wipe_status(self, name: str) -> None:
        live = self.live(name)
        assert live is not None
        self.region.kube.replace({**live, "status": {}}, subresource="status")

    def live(self, name: str) -> KubeObject | None:
        return self.region.kube.get(SERVER, name, self.region.namespace)

    def status(self, name: str) -> Mapping[str, Any]:
        return (self.live(name) or {}).get("status") or {}

    def ready(self, name: str) -> Mapping[str, Any]:
        listed = self.status(name).get("conditions") or ()
        return next((one for one in listed if one["type"] == "Ready"), {})

    def wait_reason(self, name: str, reason: str, timeout: float = 180.0) -> Mapping[str, Any]:
        self.wait(f"{name} is {reason}", lambda: self.ready(name).get("reason") == reason, name, timeout)
        return self.ready(name)

    def wait_ready(self, *names: str, timeout: float = 240.0) -> None:
        for name in names:
            self.wait_reason(name, "ServerReady", timeout)

    def wait(self, what: str, check: Callable[[], Any], name: str, timeout: float = 180.0) -> Any:
        def show() -> str:
            log = self.region.controllers.log("servers")[-3000:]
            return f"{json.dumps(self.status(name), indent=1)}\n{log}"

        return wait_until(what, check, timeout, show)

    def delete(self, *names: str, timeout: float = 180.0) -> None:
        for name in names:
            self.region.kube.delete(SERVER, name, self.region.namespace)
        for name in names:
            self.wait(f"{name} is gone", lambda name=name: self.live(name) is None, name, timeout)

    # -- OpenStack ----------------------------------------------------------------------------------

    def uid(self, name: str) -> str:
        live = self.live(name)
        assert live is not None
        return str(live["metadata"]["uid"])

    def of(self, uid: str) -> dict[str, list[Any]]:
        """All that bears the mark of an object, past our own way of looking for it."""
        mark, sdk = mark_of(uid), self.sdk
        found = {
            "servers": [one for one in sdk.compute.servers() if one.metadata.get(METADATA_KEY) == uid],
            "ports": [one for one in sdk.network.ports() if one.description == mark],
            "volumes": [one for one in sdk.block_storage.volumes() if one.metadata.get(METADATA_KEY) == uid],
            "floating_ips": [one for one in sdk.network.ips() if one.description == mark],
        }
        return {kind: listed for kind, listed in found.items() if listed}

    def clean(self) -> None:
        """As it was before a test."""
        self.proxy.rule, self.proxy.lost = no_rule, lambda method, path: False
        self.region.controllers.start("servers")
        self.give_credentials()
        names = [one["metadata"]["name"] for one in self.region.kube.list(SERVER, self.region.namespace)]
        self.delete(*names)
        self.proxy.seen.clear()
        self.proxy.asked.clear()
