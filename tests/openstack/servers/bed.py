"""A namespace whose OpenStackServers the real container serves, and a real OpenStack behind a proxy."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import openstack
import yaml

from controller.domain.servers.cloud_resources import METADATA_KEY, uid_of
from controller.ports.kubernetes import SERVER, KubeObject
from sandbox.openstack.cloud import Cloud
from tests.api.definitions import server
from tests.cluster.region import Region, wait_until
from tests.openstack.proxy import Proxy, no_rule

NETWORK = {"network": {"filter": {"name": "net0"}}}
DATA = {"name": "data", "sizeGiB": 1, "storage": {"type": "Volume"}}


class ServersBed:
    """`sdk` is the administrator's connection, past the proxy; `namespace`: that of the servers."""

    def __init__(self, region: Region, cloud: Cloud, proxy: Proxy, namespace: str = "") -> None:
        self.region = region
        self.cloud = cloud
        self.proxy = proxy
        self.namespace = namespace or region.namespace
        self._local = threading.local()

    def beside(self, namespace: str) -> ServersBed:
        """The same with the servers of another namespace."""
        return ServersBed(self.region, self.cloud, self.proxy, namespace)

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
        self.kubectl("apply", "-f", "-", input=json.dumps(obj))

    def kubectl(self, *arguments: str, input: str | None = None) -> str:
        return self.region.sandbox.kubectl("--namespace", self.namespace, *arguments, input=input)

    def clouds(self, **auth: str) -> bytes:
        """A clouds.yaml that leads through the proxy; `auth` instead of what is right."""
        clouds = self.proxy.clouds()
        clouds["clouds"]["default"]["auth"].update(auth)
        return yaml.safe_dump(clouds).encode()

    def give_credentials(self, **auth: str) -> None:
        self.give_secret("openstack-clouds", clouds_yaml=self.clouds(**auth))

    def create(self, name: str, **spec: Any) -> None:
        obj = server(name, **spec)
        obj["metadata"]["namespace"] = self.namespace
        self.region.kube.create(obj)

    def edit(self, name: str, **spec: Any) -> None:
        self.region.kube.merge_patch(SERVER, name, self.namespace, {"spec": spec})

    def wipe_status(self, name: str) -> None:
        live = self.live(name)
        assert live is not None
        self.region.kube.replace({**live, "status": {}}, subresource="status")

    def live(self, name: str) -> KubeObject | None:
        return self.region.kube.get(SERVER, name, self.namespace)

    def status(self, name: str) -> Mapping[str, Any]:
        return (self.live(name) or {}).get("status") or {}

    def ready(self, name: str) -> Mapping[str, Any]:
        listed = self.status(name).get("conditions") or ()
        return next((one for one in listed if one["type"] == "Ready"), {})

    def wait_condition(self, name: str, type_: str, reason: str) -> Mapping[str, Any]:
        """The condition, once it has this reason."""

        def found() -> Mapping[str, Any]:
            listed = self.status(name).get("conditions") or ()
            return next((one for one in listed if (one["type"], one["reason"]) == (type_, reason)), {})

        self.wait(f"{type_} of {name} is {reason}", found, name)
        return found()

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

    def restart(self) -> None:
        """The container, as after a kill: it knows nothing but what is in the cluster and the cloud."""
        self.region.controllers.kill("servers")
        self.region.controllers.start("servers")

    def request_deletion(self, name: str) -> None:
        self.region.kube.delete(SERVER, name, self.namespace)

    def delete(self, *names: str, timeout: float = 180.0) -> None:
        for name in names:
            self.request_deletion(name)
        for name in names:
            self.wait(f"{name} is gone", lambda name=name: self.live(name) is None, name, timeout)

    # -- OpenStack ----------------------------------------------------------------------------------

    def uid(self, name: str) -> str:
        live = self.live(name)
        assert live is not None
        return str(live["metadata"]["uid"])

    def of(self, uid: str) -> dict[str, list[Any]]:
        """All that bears the mark of an object, past our own way of looking for it."""
        return self._marked().get(uid, {})

    def counts(self) -> dict[str, dict[str, int]]:
        """How many things of each kind bear the mark of each object, by its uid."""
        return {
            uid: {kind: len(found) for kind, found in kinds.items()} for uid, kinds in self._marked().items()
        }

    def _marked(self) -> dict[str, dict[str, list[Any]]]:
        sdk = self.sdk
        own = {
            "servers": [(one.metadata.get(METADATA_KEY), one) for one in sdk.compute.servers()],
            "ports": [(one.description, one) for one in sdk.network.ports()],
            "volumes": [(one.metadata.get(METADATA_KEY), one) for one in sdk.block_storage.volumes()],
            "trunks": [(one.description, one) for one in sdk.network.trunks()],
            "floating_ips": [(one.description, one) for one in sdk.network.ips()],
        }
        found: dict[str, dict[str, list[Any]]] = {}
        for kind, listed in own.items():
            for mark, one in listed:
                if mark:
                    found.setdefault(uid_of(mark), {}).setdefault(kind, []).append(one)
        return found

    def of_nova(self, ids: Iterable[str]) -> dict[str, str]:
        """The statuses of servers by id, also of those in a cell that is down."""
        get = self.sdk.compute.get
        return {id_: get(f"/servers/{id_}", microversion="2.69").json()["server"]["status"] for id_ in ids}

    def clean(self) -> None:
        """As it was before a test."""
        self.proxy.rule, self.proxy.lost = no_rule, lambda method, path: False
        self.region.controllers.start("servers")
        self.give_credentials()
        names = [one["metadata"]["name"] for one in self.region.kube.list(SERVER, self.namespace)]
        self.delete(*names)
        self.proxy.seen.clear()
        self.proxy.asked.clear()
