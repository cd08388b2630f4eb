"""The nova-compute of each host in a NodeWorld, with its configuration, as the charts make them."""

from __future__ import annotations

import base64
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.ports.kubernetes import POD, SECRET
from tests.reconcile.node_world import NodeWorld

CEPH = "[libvirt]\nimages_type = rbd\nimages_rbd_pool = vms\n"
LOCAL = "[libvirt]\nimages_type = qcow2\n[DEFAULT]\ntransport_url = rabbit://nova:of-the-broker@rabbit\n"


def configure(world: NodeWorld, name: str, text: str) -> None:
    """The Secret of one DaemonSet."""
    entry = {"manager": "helm", "operation": "Apply", "time": timestamp(world.clock.now())}
    meta = {"name": name, "namespace": world.namespace, "managedFields": [entry]}
    data = {"nova.conf": base64.b64encode(text.encode()).decode()}
    secret: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
    live = world.kube.get(SECRET, name, world.namespace)
    if live is None:
        world.kube.create(secret)
    else:
        world.kube.replace({**live, "metadata": {**live["metadata"], "managedFields": [entry]}, "data": data})


def run(world: NodeWorld, host: str, source: str = "nova-compute-default", *, restarts: int = 0) -> None:
    """A nova-compute that runs, in a pod of its own unless it was only restarted."""
    if restarts == 0:
        end(world, host)
        container = {
            "name": "nova-compute",
            "volumeMounts": [
                {"name": "nova-etc", "mountPath": "/etc/nova/nova.conf", "subPath": "nova.conf"}
            ],
        }
        spec = {
            "nodeName": host,
            "containers": [container],
            "volumes": [{"name": "nova-etc", "secret": {"secretName": source}}],
        }
        labels = {"application": "nova", "component": "compute"}
        meta = {"name": f"nova-compute-{host}", "namespace": world.namespace, "labels": labels}
        world.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    live = world.kube.get(POD, f"nova-compute-{host}", world.namespace)
    assert live is not None
    reported = {"name": "nova-compute", "restartCount": restarts, "state": {"running": {}}}
    status = {"conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [reported]}
    world.kube.replace({**live, "status": status}, subresource="status")


def end(world: NodeWorld, host: str) -> None:
    if world.kube.get(POD, f"nova-compute-{host}", world.namespace) is not None:
        world.kube.delete(POD, f"nova-compute-{host}", world.namespace)
    world.watch()
