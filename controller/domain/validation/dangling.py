"""Dangling references: Kubernetes accepts the objects anyway, and their pods never start.

This reads pods (volumes, keys of ConfigMaps and Secrets, claims, accounts, images), the pull secrets of
accounts, role bindings, the routes and listeners of a gateway, and dependencies of init containers. Optional
references are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.validation.awaited import PODS, awaited

Object = Mapping[str, Any]

CONFIGMAP, SECRET, CLAIM, ACCOUNT = "ConfigMap", "Secret", "PersistentVolumeClaim", "ServiceAccount"
VOLUME, IMAGE = "volume", "image"
# Every namespace has these.
_ALWAYS = {(ACCOUNT, "default"), (CONFIGMAP, "kube-root-ca.crt")}
# Of a Secret of type kubernetes.io/tls, as listeners want it.
SERVED_KEYS = ("tls.crt", "tls.key")
# Keys that cert-manager writes.
_CERTIFICATE_KEYS = frozenset((*SERVED_KEYS, "ca.crt"))


@dataclass(frozen=True)
class Reference:
    """`by` (Deployment/nova-api) refers to an object or to a key of it, or lacks a volume or an image."""

    by: str
    kind: str
    name: str
    key: str = ""


@dataclass
class Made:
    """The existing objects: names by kind, with the keys of ConfigMaps and Secrets, None if unknown."""

    keys: dict[tuple[str, str], frozenset[str] | None] = field(default_factory=lambda: dict.fromkeys(_ALWAYS))
    pods: set[frozenset[tuple[str, str]]] = field(default_factory=set)  # the labels of those that there are

    def add(self, kind: str, name: str, keys: Iterable[str] | None = None) -> None:
        """One more; of one that is added twice, the keys of both."""
        known = self.keys.get((kind, name), frozenset())
        self.keys[kind, name] = None if keys is None or known is None else known | frozenset(keys)

    def has(self, one: Reference) -> bool:
        """Whether what is referred to is there, with its key."""
        if one.kind == PODS:
            wanted = frozenset(_label(text) for text in one.name.split(","))
            return any(wanted <= labels for labels in self.pods)
        place = (one.kind, one.name)
        if place not in self.keys:
            return False
        keys = self.keys[place]
        return not one.key or keys is None or one.key in keys


def made_by(objects: Iterable[Object]) -> Made:
    """What objects make, themselves and through the controllers of Kubernetes, cert-manager and
    stores of secrets."""
    made = Made()
    for obj in objects:
        kind, name = obj["kind"], str(obj["metadata"]["name"])
        made.add(kind, name, _keys_of(obj) if kind in (CONFIGMAP, SECRET) else None)
        if labels := _pod_labels(obj):
            made.pods.add(frozenset((str(key), str(value)) for key, value in labels.items()))
        if kind == "Certificate":
            made.add(SECRET, obj["spec"]["secretName"], _CERTIFICATE_KEYS)
        elif kind == "ExternalSecret":
            spec = obj.get("spec") or {}
            keys = (one["secretKey"] for one in spec.get("data") or ())
            # What a template or a whole entry of the store brings is not known here.
            known = not spec.get("dataFrom") and not (spec.get("target") or {}).get("template")
            made.add(SECRET, (spec.get("target") or {}).get("name") or name, keys if known else None)
        elif kind == "SealedSecret":
            made.add(SECRET, name, (obj.get("spec") or {}).get("encryptedData") or {})
    return made


def dangling(objects: Iterable[Object], made: Made, namespace: str = "openstack") -> tuple[Reference, ...]:
    """What objects of a region in this namespace refer to or wait for and that is not there, each once, in
    their order."""
    found = dict.fromkeys(
        one for obj in objects for one in (*references(obj), *_waits(obj, namespace)) if not made.has(one)
    )
    return tuple(found)


def _waits(obj: Object, namespace: str) -> Iterator[Reference]:
    pod, _ = pod_of(obj)
    for container in (pod or {}).get("initContainers") or ():
        for kind, name in awaited(container, namespace):
            yield Reference(f"{obj['kind']}/{obj['metadata']['name']}", kind, name)


def _label(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value


def _pod_labels(obj: Object) -> Mapping[str, Any]:
    spec = obj.get("spec") or {}
    template = spec.get("template") if isinstance(spec, Mapping) else None
    found = (template.get("metadata") or {}).get("labels") if isinstance(template, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def references(obj: Object) -> Iterator[Reference]:
    """What an object refers to: of a volume that it mounts and does not have, and of no image, too."""
    by = f"{obj['kind']}/{obj['metadata']['name']}"
    pod, claims = pod_of(obj)
    if pod is not None:
        yield from _of_pod(by, pod, claims)
    elif obj["kind"] == ACCOUNT:
        yield from (Reference(by, SECRET, one["name"]) for one in obj.get("imagePullSecrets") or ())
    elif obj["kind"] in ("RoleBinding", "ClusterRoleBinding"):
        yield from _of_binding(by, obj)
    elif obj["kind"] == "HTTPRoute":
        rules = obj["spec"].get("rules") or ()
        for backend in (one for rule in rules for one in rule.get("backendRefs") or ()):
            yield Reference(by, backend.get("kind") or "Service", backend["name"])
    elif obj["kind"] == "Gateway":
        for listener in obj["spec"].get("listeners") or ():
            for one in (listener.get("tls") or {}).get("certificateRefs") or ():
                kind = one.get("kind") or SECRET
                for key in SERVED_KEYS if kind == SECRET else ("",):
                    yield Reference(by, kind, one["name"], key)


def _keys_of(obj: Object) -> frozenset[str]:
    parts = (obj.get(part) or {} for part in ("data", "stringData", "binaryData"))
    return frozenset(key for part in parts for key in part)


def pod_of(obj: Object) -> tuple[Mapping[str, Any] | None, frozenset[str]]:
    """The spec of the pods that the object makes, None if it makes none, and the volumes that it claims for
    each of them."""
    spec = obj.get("spec") or {}
    claims = frozenset(claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates") or ())
    if obj["kind"] == "Pod":
        return spec, claims
    if obj["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    template = spec.get("template")
    return (
        (template["spec"], claims)
        if template and "containers" in template.get("spec", {})
        else (None, claims)
    )


def _of_pod(by: str, pod: Mapping[str, Any], claims: frozenset[str]) -> Iterator[Reference]:
    yield Reference(by, ACCOUNT, pod.get("serviceAccountName") or "default")
    for one in pod.get("imagePullSecrets") or ():
        yield Reference(by, SECRET, one["name"])
    sources: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {name: [] for name in claims}
    for volume in pod.get("volumes") or ():
        sources[volume["name"]] = list(sources_of(volume))
        for kind, name, source in sources[volume["name"]]:
            if not source.get("optional"):
                yield Reference(by, kind, name)
                yield from (Reference(by, kind, name, item["key"]) for item in source.get("items") or ())
    for container in (*(pod.get("initContainers") or ()), *(pod["containers"] or ())):
        yield from _of_container(by, container, sources)


def _of_container(
    by: str, container: Mapping[str, Any], sources: Mapping[str, list[tuple[str, str, Mapping[str, Any]]]]
) -> Iterator[Reference]:
    if not container.get("image"):
        yield Reference(by, IMAGE, f"of container {container['name']}")
    for mount in container.get("volumeMounts") or ():
        if mount["name"] not in sources:
            yield Reference(by, VOLUME, mount["name"])
            continue
        given = sources[mount["name"]]
        # A path below one object without items of its own is a key of it.
        if mount.get("subPath") and len(given) == 1 and given[0][0] in (CONFIGMAP, SECRET):
            kind, name, source = given[0]
            if not source.get("items") and not source.get("optional"):
                yield Reference(by, kind, name, mount["subPath"].partition("/")[0])
    for variable in container.get("env") or ():
        for field_, kind in (("secretKeyRef", SECRET), ("configMapKeyRef", CONFIGMAP)):
            one = (variable.get("valueFrom") or {}).get(field_)
            if one and not one.get("optional"):
                yield Reference(by, kind, one["name"], one["key"])
    for source in container.get("envFrom") or ():
        for field_, kind in (("secretRef", SECRET), ("configMapRef", CONFIGMAP)):
            one = source.get(field_)
            if one and not one.get("optional"):
                yield Reference(by, kind, one["name"])


def sources_of(volume: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Kind, name and source of each object that a volume shows."""
    if claim := volume.get("persistentVolumeClaim"):
        yield CLAIM, claim["claimName"], {}
    parts = [volume, *((volume.get("projected") or {}).get("sources") or ())]
    for part in parts:
        if source := part.get("configMap"):
            yield CONFIGMAP, source["name"], source
        if source := part.get("secret"):
            yield SECRET, source.get("secretName") or source.get("name"), source


def _of_binding(by: str, obj: Object) -> Iterator[Reference]:
    role = obj["roleRef"]
    yield Reference(by, role["kind"], role["name"])
    for subject in obj.get("subjects") or ():
        if subject["kind"] == ACCOUNT:
            yield Reference(by, ACCOUNT, subject["name"])
