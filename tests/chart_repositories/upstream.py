"""Charts of the shape of upstream's: every object, hook and weight of OpenStack-Helm's, in words of ours.

What makes a release of theirs hard for a controller is there: hook Jobs at weights from -6 to 5, plain Jobs
that cannot be changed, Secrets kept beside the release, values that are random unless set and roll all pods
when they change, roles that grant more than one thinks, and records of some 250 kB.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from controller.adapters.system.values_files import load_builds
from tests.chart_repositories.packing import packed

DATA = Path(__file__).parents[1] / "data"
BUILDS = load_builds(DATA.parents[1] / "values").pinned
_PREFIX = "release-name-default-"
_STAND_INS = {"str": "text", "harmless": "", "int": 1, "float": 1.5, "bool": False, "null": None, "list": []}
# Octets of text that no packing makes smaller, in the place of upstream's scripts.
_PADDING = 170_000
_SELECTOR = "application: {chart}\ncomponent: {component}"


@cache
def shapes() -> Mapping[str, Any]:
    """By chart: some of its values, and the objects that it makes of its own values."""
    found: Mapping[str, Any] = json.loads((DATA / "upstream-shape.json").read_text())
    return found


def version_of(name: str) -> str:
    """The version that a region takes unless it says otherwise."""
    return BUILDS.charts[name].version


@cache
def upstream_chart(name: str, image: str = "") -> bytes:
    """The archive of the chart. `image` is another default image of its Jobs, for a later version."""
    version = version_of(name)
    values = upstream_values(name)
    files = {
        "Chart.yaml": _yaml(
            {
                "apiVersion": "v2",
                "name": name,
                "version": version,
                "dependencies": [
                    {"name": "helm-toolkit", "repository": "file://../helm-toolkit", "version": ">= 0.1.0"}
                ],
            }
        ),
        "values.yaml": _yaml(values),
        "templates/objects.yaml": "\n---\n".join(_Chart(name, values, image).objects()) + "\n",
        # A release's record holds the chart's own templates, and not those of charts within it.
        "templates/bin/_scripts.sh.tpl": _padding(name),
        "charts/helm-toolkit/Chart.yaml": _yaml(
            {"apiVersion": "v2", "name": "helm-toolkit", "version": version}
        ),
        "charts/helm-toolkit/values.yaml": "{}\n",
    }
    return packed(name, files)


def upstream_charts(*names: str) -> dict[tuple[str, str], bytes]:
    """Archives by name and version, of these charts or of all."""
    return {
        (name, version_of(name)): upstream_chart(name)
        for name in names or BUILDS.charts.keys() & shapes().keys()
    }


@cache
def upstream_values(name: str) -> dict[str, Any]:
    """The chart's values: upstream's keys and types, and the true values where shape depends on them."""
    keys = json.loads((DATA / "upstream-keys" / f"{name}.json").read_text())
    values: dict[str, Any] = _overlaid(_stand_in(keys), shapes()[name]["values"])
    return values


def _stand_in(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {key: _stand_in(item) for key, item in shape.items()}
    return "password" if shape == "secret" else _STAND_INS[shape]


def _overlaid(below: Any, above: Any) -> Any:
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{key: _overlaid(below.get(key), item) for key, item in above.items()}}


def _yaml(value: Any) -> str:
    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False))


def _padding(name: str) -> str:
    block, lines = name.encode(), []
    while len(lines) * 88 < _PADDING:
        block = hashlib.sha512(block).digest()
        lines.append(base64.b64encode(block).decode())
    return '{{- define "scripts" -}}\n' + "\n".join(lines) + "\n{{- end -}}\n"


class _Chart:
    """Templates of one chart's objects."""

    def __init__(self, name: str, values: Mapping[str, Any], image: str) -> None:
        self._name = name
        self._values = values
        self._image = image
        self._manifests = values.get("manifests", {})
        self._tags = list(values.get("images", {}).get("tags", {}))

    def objects(self) -> Iterator[str]:
        """The template of each object, switched as `manifests` says."""
        for kind, names in shapes()[self._name]["objects"].items():
            for name, attributes in names.items():
                text = self._object(kind, name, attributes)
                switch = self._switch(kind, name)
                if switch:
                    text = f"{{{{- if .Values.manifests.{switch} }}}}\n{text}\n{{{{- end }}}}"
                yield text

    def _object(self, kind: str, name: str, attributes: Mapping[str, Any]) -> str:
        body = getattr(self, f"_{kind}", None)
        assert body is not None, f"no shape of a {kind}"
        version = _API_VERSIONS.get(kind, "v1")
        metadata = [f"name: {_named(name)}", "labels:", _indented(self._labels(name), 2)]
        notes = []
        if "hook" in attributes:
            notes += [
                f'"helm.sh/hook": {attributes["hook"]}',
                f'"helm.sh/hook-weight": "{attributes["weight"]}"',
            ]
        if "deletePolicy" in attributes:
            notes.append(f'"helm.sh/hook-delete-policy": {attributes["deletePolicy"]}')
        if kind == "Secret" and "hook" in attributes:
            notes.append('"helm.sh/resource-policy": keep')
        if notes:
            metadata += ["annotations:", _indented("\n".join(notes), 2)]
        head = f"apiVersion: {version}\nkind: {kind}\nmetadata:\n{_indented(chr(10).join(metadata), 2)}"
        return f"{head}\n{body(name)}"

    def _labels(self, name: str) -> str:
        labels = _SELECTOR.format(chart=self._name, component=self._component(name))
        return f"release_group: {{{{ .Release.Name }}}}\n{labels}"

    def _component(self, name: str) -> str:
        tail = name.removeprefix("release-name-")
        return (
            "server" if tail == self._name else tail.removeprefix(f"{self._name}-").removesuffix("-default")
        )

    def _parts(self, name: str) -> list[str]:
        """`nova-api-metadata` → api_metadata, metadata: how values may call it."""
        words = self._component(name).split("-")
        tails = ["_".join(words[start:]) for start in range(len(words))]
        return [f"{self._name}_{tails[0]}", *tails]

    def _switch(self, kind: str, name: str) -> str:
        if kind == "Secret" and name == f"{self._name}-etc":
            return "configmap_etc" if "configmap_etc" in self._manifests else ""
        for prefix in _SWITCHES.get(kind, ()):
            for part in [*self._parts(name), ""]:
                switch = f"{prefix}_{part}".rstrip("_")
                if isinstance(self._manifests.get(switch), bool):
                    return switch
        return "crds" if kind == "CustomResourceDefinition" and "crds" in self._manifests else ""

    def _lookup(self, root: Sequence[str], name: str, extra: Sequence[str] = (), *, leaf: str = "") -> str:
        """The path of the values below `root` that are for the object, empty when there are none.

        `leaf` is a key that tells them from what is only on the way there.
        """
        found: Any = self._values
        for key in root:
            found = found.get(key) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            return ""
        path = ".".join(("", *root))
        parts = [part for long in self._parts(name) for part in (long, long.removesuffix("_agent"))]
        for part in [*parts, *extra]:
            for above, below in ((found, path), (found.get("agent"), f"{path}.agent")):
                if isinstance(above, dict) and part in above and (not leaf or leaf in above[part]):
                    return f"{below}.{part}"
        return ""

    def _node_selector(self, name: str, extra: Sequence[str]) -> str:
        path = self._lookup(
            ("labels",), name, [*extra, "server", "api", "ovs", "jobs", "job"], leaf="node_selector_key"
        )
        if not path:
            return ""
        key, value = (f".Values{path}.node_selector_{word}" for word in ("key", "value"))
        return f"nodeSelector:\n  {{{{ {key} }}}}: {{{{ {value} | quote }}}}\n"

    def _image_of(self, name: str) -> str:
        for part in self._parts(name):
            for tag in (part, f"{self._name}_{part}", f"{part}_init"):
                if tag in self._tags:
                    return f"{{{{ .Values.images.tags.{tag} | quote }}}}"
        return f"{{{{ .Values.images.tags.{self._tags[0]} | quote }}}}"

    def _pod(self, name: str, *, job: bool = False) -> str:
        policy = "OnFailure" if job else "Always"
        variables = f"[{{name: GENERATION, value: {self._image or 'one'}}}]"
        wait = "[{name: DEPENDENCY_JOBS, value: none}]"
        return (
            f"{self._node_selector(name, ['job', 'jobs'] if job else [])}"
            f"restartPolicy: {policy}\n"
            "initContainers:\n"
            f"  - {{name: init, image: {{{{ .Values.images.tags.dep_check | quote }}}}, env: {wait}}}\n"
            "containers:\n"
            f"  - {{name: main, image: {self._image_of(name)}, env: {variables if job else '[]'}}}"
        )

    def _template(self, name: str, *, job: bool = False) -> str:
        rolls = ""
        if not job and f"{self._name}-etc" in shapes()[self._name]["objects"].get("Secret", {}):
            secret = _random(self._values)
            rolls = (
                f"    annotations: {{configmap-etc-hash: {{{{ {secret} | sha256sum }}}}}}\n" if secret else ""
            )
        return (
            f"template:\n  metadata:\n{rolls}    labels:\n{_indented(self._labels(name), 6)}\n"
            f"  spec:\n{_indented(self._pod(name, job=job), 4)}"
        )

    def _workload(self, name: str, more: str = "") -> str:
        selector = _SELECTOR.format(chart=self._name, component=self._component(name))
        spec = f"{more}selector:\n  matchLabels:\n{_indented(selector, 4)}\n{self._template(name)}"
        return f"spec:\n{_indented(spec, 2)}"

    def _replicas(self, name: str) -> str:
        path = self._lookup(("pod", "replicas"), name, ["server"])
        return f"replicas: {{{{ .Values{path} }}}}\n" if path else "replicas: 1\n"

    def _Deployment(self, name: str) -> str:
        return self._workload(name, self._replicas(name))

    def _DaemonSet(self, name: str) -> str:
        return self._workload(name)

    def _StatefulSet(self, name: str) -> str:
        volume = self._lookup(("volume",), name) or ".volume"
        text = self._workload(name, f"{self._replicas(name)}serviceName: {self._name}\n")
        if "volume" not in self._values:
            return text
        claim = (
            "metadata: {name: data}\n"
            "spec:\n"
            "  accessModes: [ReadWriteOnce]\n"
            f"  resources: {{requests: {{storage: {{{{ .Values{volume}.size }}}}}}}}\n"
            f"  storageClassName: {{{{ .Values{volume}.class_name }}}}"
        )
        claims = _indented(f"volumeClaimTemplates:\n  - {_indented(claim, 4).strip()}", 2)
        return f"{text}\n{{{{- if .Values{volume}.enabled }}}}\n{claims}\n{{{{- end }}}}"

    def _Job(self, name: str) -> str:
        return f"spec:\n  backoffLimit: 1000\n{_indented(self._template(name, job=True), 2)}"

    def _CronJob(self, name: str) -> str:
        job = _indented(self._template(name, job=True), 6)
        return f'spec:\n  schedule: "0 0 1 1 *"\n  jobTemplate:\n    spec:\n{job}'

    def _Pod(self, name: str) -> str:
        return f"spec:\n{_indented(self._pod(name), 2)}"

    def _ConfigMap(self, name: str) -> str:
        return f"data:\n  main.sh: |\n    #!/bin/sh\n    exec {self._component(name)}"

    def _Secret(self, name: str) -> str:
        if name != f"{self._name}-etc":
            return "type: Opaque\nstringData:\n  name: " + _named(name)
        lines = ["type: Opaque", "stringData:", "  conf.json: {{ .Values.conf | toJson | quote }}"]
        if secret := _random(self._values):
            lines.append(f"  memcache_secret_key: {{{{ {secret} | quote }}}}")
        return "\n".join(lines)

    def _Service(self, name: str) -> str:
        ports = "[{name: main, port: 80}]"
        return f"spec:\n  selector: {{application: {self._name}}}\n  ports: {ports}"

    def _PodDisruptionBudget(self, name: str) -> str:
        selector = _SELECTOR.format(chart=self._name, component=self._component(name))
        return f"spec:\n  minAvailable: 0\n  selector:\n    matchLabels:\n{_indented(selector, 6)}"

    def _PersistentVolumeClaim(self, name: str) -> str:
        return "spec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}"

    def _ServiceAccount(self, name: str) -> str:
        return "imagePullSecrets: []"

    def _Role(self, name: str) -> str:
        if name.startswith(_PREFIX):
            rule = (
                'apiGroups: ["", extensions, batch, apps]\n'
                "resources: [daemonsets, endpoints, jobs, pods, services]\nverbs: [get, list]"
            )
        else:
            rule = 'apiGroups: [""]\nresources: [secrets]\nverbs: [get, list, create, update]'
        return f"rules:\n  - {_indented(rule, 4).strip()}"

    def _RoleBinding(self, name: str) -> str:
        return self._binding(name, "Role")

    def _ClusterRole(self, name: str) -> str:
        return 'rules:\n  - {apiGroups: [""], resources: [nodes], verbs: [get, list]}'

    def _ClusterRoleBinding(self, name: str) -> str:
        return self._binding(name.replace("rolebinding", "role"), "ClusterRole")

    def _binding(self, name: str, kind: str) -> str:
        account = name.removeprefix(_PREFIX)
        return (
            f"roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: {_named(name)}}}\n"
            f"subjects: [{{kind: ServiceAccount, name: {_named(account)}, "
            "namespace: {{ .Release.Namespace }}}]"
        )

    def _CustomResourceDefinition(self, name: str) -> str:
        plural, _, group = name.partition(".")
        singular = plural.removesuffix("s")
        names = f"{{plural: {plural}, singular: {singular}, kind: {singular.capitalize()}}}"
        schema = "{openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}"
        version = f"{{name: v1alpha1, served: true, storage: true, schema: {schema}}}"
        return f"spec:\n  group: {group}\n  scope: Namespaced\n  names: {names}\n  versions: [{version}]"


_API_VERSIONS = {
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
    "CronJob": "batch/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "PodDisruptionBudget": "policy/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "StatefulSet": "apps/v1",
}
_OF_WORKLOADS = ("deployment", "statefulset", "daemonset", "job", "cron", "cron_job", "pod")
_SWITCHES: Mapping[str, Sequence[str]] = {
    "ConfigMap": ("configmap",),
    "CronJob": ("cron_job", "cron"),
    "DaemonSet": ("daemonset",),
    "Deployment": ("deployment",),
    "Job": ("job",),
    "PodDisruptionBudget": ("pdb",),
    "Service": ("service",),
    "StatefulSet": ("statefulset",),
    "Role": _OF_WORKLOADS,
    "RoleBinding": _OF_WORKLOADS,
    "ServiceAccount": _OF_WORKLOADS,
}


def _random(values: Mapping[str, Any]) -> str:
    """What is drawn again at every render unless it is set."""
    auth = values.get("endpoints", {}).get("oslo_cache", {}).get("auth", {})
    if "memcache_secret_key" not in auth:
        return ""
    return ".Values.endpoints.oslo_cache.auth.memcache_secret_key | default (randAlphaNum 64)"


def _named(name: str) -> str:
    """The object's name in any release and namespace."""
    full = name.replace(_PREFIX, "{{ .Release.Name }}-{{ .Release.Namespace }}-")
    return full.replace("release-name", "{{ .Release.Name }}")


def _indented(text: str, spaces: int) -> str:
    return "\n".join(f"{' ' * spaces}{line}" if line else line for line in text.split("\n"))
