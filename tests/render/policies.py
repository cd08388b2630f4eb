"""NetworkPolicies, held against the connections that the files of pods name: who would be turned away."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.render import production

Object = Mapping[str, Any]
Labels = Mapping[str, str]

# An address of a Service of the region, with a port: of a pod by its StatefulSet, too.
_ADDRESS = re.compile(r"([a-z0-9][-a-z0-9.]*)\.([-a-z0-9]+)\.svc\.[a-z0-9.]+:(\d+)")

# Kubernetes labels each namespace with its name.
NAMESPACE_NAME = "kubernetes.io/metadata.name"


@dataclass(frozen=True)
class Client:
    """A workload whose pods connect: those on the network of their node have its address, and no labels."""

    title: str
    labels: Labels
    on_node: bool
    files: tuple[str, ...]
    # Empty: that of the region.
    namespace: str = ""


def clients(objects: Iterable[Object]) -> list[Client]:
    """Every workload, with the texts of the Secrets and ConfigMaps that its pods mount."""
    there = list(objects)
    texts: dict[str, list[str]] = {}
    for obj in there:
        texts.setdefault(obj["metadata"]["name"], []).extend(text for _, text in production.files(obj))
    found = []
    for obj, spec in production.pod_specs(there):
        mounted = [text for name in _mounted(spec) for text in texts.get(name, ())]
        title = f"{obj['kind']} {obj['metadata']['name']}"
        found.append(Client(title, _labels(obj), bool(spec.get("hostNetwork")), tuple(mounted)))
    return found


def turned_away(objects: Iterable[Object], node: str) -> list[str]:
    """Connections that the files of pods name and policies do not let through. `node`: a node's address."""
    there = list(objects)
    services = {obj["metadata"]["name"]: obj["spec"] for obj in there if obj["kind"] == "Service"}
    policies = [obj for obj in there if obj["kind"] == "NetworkPolicy"]
    servers = [
        (obj, _labels(obj)) for obj, spec in production.pod_specs(there) if not spec.get("hostNetwork")
    ]
    found = set()
    for client in clients(there):
        for host, port in _addresses(client.files):
            service = services.get(host.rpartition(".")[2])
            if service is None or not service.get("selector"):
                continue
            for server, labels in servers:
                if not service["selector"].items() <= labels.items():
                    continue
                if not _lets_in(policies, labels, client, _target(service, port, server), node):
                    found.add(f"{client.title} → {server['metadata']['name']}:{port}")
    return sorted(found)


def admits(objects: Iterable[Object], server: Labels, port: int, client: Client) -> bool:
    """Whether the policies let this client connect to a port of pods with these labels."""
    policies = [obj for obj in objects if obj["kind"] == "NetworkPolicy"]
    return _lets_in(policies, server, client, port, "")


def _addresses(texts: Iterable[str]) -> set[tuple[str, int]]:
    return {(host, int(port)) for text in texts for host, _, port in _ADDRESS.findall(text)}


def _target(service: Mapping[str, Any], port: int, server: Object) -> int:
    """The port of the pod behind a port of the Service."""
    for one in service.get("ports") or ():
        if one["port"] == port:
            target = one.get("targetPort", port)
            return target if isinstance(target, int) else _named(server, str(target), port)
    return port


def _named(server: Object, name: str, otherwise: int) -> int:
    for container in server["spec"]["template"]["spec"]["containers"]:
        for port in container.get("ports") or ():
            if port.get("name") == name:
                return int(port["containerPort"])
    return otherwise


def _lets_in(policies: list[Object], server: Labels, client: Client, port: int, node: str) -> bool:
    governing = [
        policy["spec"]
        for policy in policies
        if _matches(policy["spec"].get("podSelector") or {}, server)
        and "Ingress" in policy["spec"].get("policyTypes", ["Ingress"])
    ]
    rules = [rule for spec in governing for rule in spec.get("ingress") or ()]
    return not governing or any(_from(rule, client, node) and _to(rule, port) for rule in rules)


def _from(rule: Mapping[str, Any], client: Client, node: str) -> bool:
    return not rule.get("from") or any(_peer(peer, client, node) for peer in rule["from"])


def _peer(peer: Mapping[str, Any], client: Client, node: str) -> bool:
    if "ipBlock" in peer:
        return client.on_node and _holds(peer["ipBlock"], ipaddress.ip_address(node))
    namespaces = peer.get("namespaceSelector")
    if client.on_node or (client.namespace == "") != (namespaces is None):
        return False
    if namespaces is not None and not _matches(namespaces, {NAMESPACE_NAME: client.namespace}):
        return False
    return _matches(peer.get("podSelector") or {}, client.labels)


def _holds(block: Mapping[str, Any], address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    excepted = any(address in ipaddress.ip_network(one) for one in block.get("except") or ())
    return address in ipaddress.ip_network(block["cidr"]) and not excepted


def _to(rule: Mapping[str, Any], port: int) -> bool:
    ports = rule.get("ports")
    return not ports or any(one.get("port") in (None, port) for one in ports)


def _matches(selector: Mapping[str, Any], labels: Labels) -> bool:
    if not (selector.get("matchLabels") or {}).items() <= labels.items():
        return False
    for term in selector.get("matchExpressions") or ():
        value, given = labels.get(term["key"]), term.get("values") or ()
        fits = {
            "In": value in given,
            "NotIn": value not in given,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }
        if not fits[term["operator"]]:
            return False
    return True


def _labels(obj: Object) -> Labels:
    spec = obj.get("spec") or {}
    spec = spec["jobTemplate"]["spec"] if obj["kind"] == "CronJob" else spec
    source = obj if obj["kind"] == "Pod" else spec.get("template") or {}
    return (source.get("metadata") or {}).get("labels") or {}


def _mounted(spec: Mapping[str, Any]) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        sources = [volume, *((volume.get("projected") or {}).get("sources") or ())]
        for source in sources:
            secret, conf = source.get("secret") or {}, source.get("configMap") or {}
            yield from (
                name for name in (secret.get("secretName"), secret.get("name"), conf.get("name")) if name
            )
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        for one in container.get("env") or ():
            key = (one.get("valueFrom") or {}).get("secretKeyRef") or {}
            if key:
                yield key["name"]
