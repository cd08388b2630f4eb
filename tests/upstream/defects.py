"""Defects of OpenStack-Helm's charts that our values avoid: what avoids each, and how it shows without."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.validation.awaited import JOB
from controller.domain.validation.dangling import dangling, made_by
from controller.domain.values.chart_values import Path
from sandbox.patience import patient

Objects = Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class Defect:
    """`avoided_by` is the path of our value; `shows` whether objects that were made without it have it, or
    with the value `instead`. `features` are those that a region has to have for it, and `preset` its
    preset; without one, it has every service."""

    chart: str
    avoided_by: Path
    shows: Callable[[Objects], bool]
    features: Mapping[str, Any] = field(default_factory=dict)
    instead: Any = None
    preset: str = ""


def pod_specs(objects: Objects) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each object that makes pods, with what it makes of them."""
    for obj in objects:
        spec = obj.get("spec") or {}
        if obj["kind"] == "Pod":
            yield obj, spec
        elif obj["kind"] == "CronJob":
            yield obj, spec["jobTemplate"]["spec"]["template"]["spec"]
        elif "template" in spec:
            yield obj, spec["template"]["spec"]


def _mounts_what_is_no_volume(objects: Objects) -> bool:
    for _, pod in pod_specs(objects):
        there = {volume["name"] for volume in pod.get("volumes") or ()}
        for container in (*(pod.get("initContainers") or ()), *pod["containers"]):
            if {mount["name"] for mount in container.get("volumeMounts") or ()} - there:
                return True
    return False


def _runs_no_image(objects: Objects) -> bool:
    return any(not one.get("image") for _, pod in pod_specs(objects) for one in pod["containers"])


def _waits_for_what_it_does_not_make(objects: Objects) -> bool:
    made = list(objects)
    return any(one.kind == JOB for one in dangling(made, made_by(made)))


def _names_no_certificate(objects: Objects) -> bool:
    files = [
        obj["data"] for obj in objects if obj["kind"] == "Secret" and "manila.conf" in (obj["data"] or {})
    ]
    return not all(b"ssl_ca=" in base64.b64decode(data["manila.conf"]) for data in files)


def _cannot_reach_the_broker(objects: Objects) -> bool:
    [pod] = [pod for obj, pod in pod_specs(objects) if obj["metadata"]["name"] == "heat-cfn"]
    paths = [str(mount["mountPath"]) for one in pod["containers"] for mount in one.get("volumeMounts") or ()]
    return not any(path.startswith("/etc/rabbitmq/certs") for path in paths)


def _rules_pods_of_the_cluster(objects: Objects) -> bool:
    roles = (obj for obj in objects if obj["kind"] == "ClusterRole")
    return any(
        "delete" in rule["verbs"] and "pods" in rule["resources"] for role in roles for rule in role["rules"]
    )


def _has_a_name_that_nothing_can_have(objects: Objects) -> bool:
    return any("%" in obj["metadata"]["name"] for obj in objects)


def _hides_the_key_of_clients(objects: Objects) -> bool:
    mounts = [
        str(mount["mountPath"])
        for _, pod in pod_specs(objects)
        for one in pod["containers"]
        for mount in one.get("volumeMounts") or ()
    ]
    keys = [path for path in mounts if path.endswith("/clientkey.pem")]
    return bool(keys) and "/etc/pki/libvirt/private/clientkey.pem" not in keys


def _puts_up_with_no_taint(objects: Objects) -> bool:
    return any(obj["kind"] == "DaemonSet" and not pod.get("tolerations") for obj, pod in pod_specs(objects))


def _has_a_pod_without_tolerations(objects: Objects) -> bool:
    return any(not pod.get("tolerations") for _, pod in pod_specs(objects))


def _has_no_priority(objects: Objects) -> bool:
    return any(
        obj["kind"] == "DaemonSet" and not pod.get("priorityClassName") for obj, pod in pod_specs(objects)
    )


def _gives_open_vswitch_no_value(objects: Objects) -> bool:
    """Whether the script that begins a controller of OVN gives `ovs-vsctl set` an argument that ends in "=":
    it answers "argument does not end in "=" followed by a value", and the script ends."""
    scripts = {
        text
        for obj in objects
        if obj["kind"] == "ConfigMap"
        for name, text in (obj.get("data") or {}).items()
        if name == "ovn-controller-init.sh"
    }
    key = "external-ids:ovn-bridge-mappings="
    lines = [line for script in scripts for line in script.splitlines() if key in line and "set open" in line]
    told = "ovs-vsctl() { printf '%s\\n' \"${@: -1}\"; }"
    command = ["bash", "-ec", "\n".join([told, *lines])]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=patient(30))
    return key in run.stdout.splitlines()


def _kills_what_is_slow_to_begin(objects: Objects) -> bool:
    """Whether a service that does not answer in its first minute is killed for it."""
    for _, pod in pod_specs(objects):
        for container in pod["containers"]:
            alive, ready = container.get("livenessProbe") or {}, container.get("readinessProbe") or {}
            # Another port is uWSGI's own, where it answers before it has loaded the service.
            if "httpGet" not in alive or alive["httpGet"]["port"] != ready["httpGet"]["port"]:
                continue
            tries = alive.get("periodSeconds", 10) * alive.get("failureThreshold", 3)
            if alive.get("initialDelaySeconds", 0) + tries < 60:
                return True
    return False


def _kills_what_is_busy(objects: Objects) -> bool:
    """Whether a pod is killed that needs twenty seconds for an answer while much else runs on its node."""
    probes = (one.get("livenessProbe") or {} for _, pod in pod_specs(objects) for one in pod["containers"])
    return any("tcpSocket" not in probe and probe.get("timeoutSeconds", 20) < 20 for probe in probes)


def _fetches_from_the_internet(objects: Objects) -> bool:
    texts = (text for one in objects for text in (one.get("data") or {}).values())
    return any("curl" in text and "://download." in text for text in texts)


_PODS = {
    "compute": {
        "pods": {"tolerations": [{"operator": "Exists"}], "priorityClassName": "system-node-critical"}
    }
}
DEFECTS: Mapping[str, Defect] = {
    "designate-service-cleaner": Defect(
        "designate", ("pod", "mounts", "designate_service_cleaner"), _mounts_what_is_no_volume
    ),
    "aodh-alarms-cleaner": Defect(
        "aodh", ("pod", "mounts", "aodh_alarms_cleaner"), _mounts_what_is_no_volume
    ),
    "ceilometer-db-sync": Defect("ceilometer", ("images", "tags", "ceilometer_db_sync"), _runs_no_image),
    "ceilometer-endpoints": Defect(
        "ceilometer", ("dependencies", "static"), _waits_for_what_it_does_not_make
    ),
    "ceph-rgw-pool": Defect("ceph-rgw", ("manifests", "job_rgw_pool"), _rules_pods_of_the_cluster),
    "ceph-rgw-checkdns": Defect(
        "ceph-rgw", ("endpoints", "ceph_mon", "namespace"), _has_a_name_that_nothing_can_have
    ),
    "manila-test": Defect("manila", ("manifests", "pod_rally_test"), _runs_no_image),
    "manila-database-certificate": Defect(
        "manila",
        ("conf", "manila", "database", "connection_parameters"),
        _names_no_certificate,
        {"tls": {"internal": {"enabled": True, "issuer": "region-ca", "traffic": ["database"]}}},
    ),
    "heat-cfn-certificate": Defect(
        "heat",
        ("pod", "mounts", "heat_cfn"),
        _cannot_reach_the_broker,
        {"tls": {"internal": {"enabled": True, "issuer": "region-ca", "traffic": ["messaging"]}}},
        preset="compute",
    ),
    "libvirt-client-key": Defect(
        "libvirt",
        ("pod", "mounts", "libvirt"),
        _hides_the_key_of_clients,
        {"compute": {"libvirtTLS": {"enabled": True}}},
    ),
    "libvirt-priority": Defect("libvirt", ("pod", "dns_policy"), _has_no_priority, _PODS),
    "ovn-controller-tolerations": Defect(
        "ovn",
        ("pod", "dns_policy"),
        _puts_up_with_no_taint,
        {**_PODS, "networking": {"backend": "ml2/ovn"}},
    ),
    "ovn-databases-tolerations": Defect(
        "ovn",
        ("labels", "ovn_northd", "node_selector_value"),
        _has_a_pod_without_tolerations,
        {"pods": {"tolerations": [{"operator": "Exists"}]}, "networking": {"backend": "ml2/ovn"}},
        instead="enabled",
    ),
    "ovn-bridge-mappings": Defect(
        "ovn",
        ("conf", "ovn_bridge_mappings"),
        _gives_open_vswitch_no_value,
        {"networking": {"backend": "ml2/ovn"}},
        instead="",
    ),
    **{
        f"{chart}-liveness": Defect(chart, ("pod", "probes"), _kills_what_is_slow_to_begin)
        for chart in ("nova", "glance", "cinder", "barbican", "octavia")
    },
    "glance-bootstrap": Defect("glance", ("bootstrap", "structured", "images"), _fetches_from_the_internet),
    **{
        f"{chart}-liveness": Defect(chart, ("pod", "probes"), _kills_what_is_busy)
        for chart in ("keystone", "rabbitmq")
    },
}
