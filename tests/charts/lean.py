"""The lean charts, rendered: what the tests of charts/ share."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.helm_program import Chart

ROOT = Path(__file__).parents[2]
CHARTS = ROOT / "charts"
NAMESPACE = "openstack"

_DATABASE = ("endpoints.oslo_db.auth.admin.password",)
_ADMIN = ("endpoints.identity.auth.admin.password",)
_BROKER = ("endpoints.oslo_messaging.auth.admin.password",)
_CACHE = ("endpoints.oslo_cache.auth.memcache_secret_key",)

# The secrets without which a chart does not render.
REQUIRED: dict[str, tuple[str, ...]] = {
    "mariadb": (
        *_DATABASE,
        "endpoints.oslo_db.auth.sst.password",
        "endpoints.oslo_db.auth.audit.password",
    ),
    "rabbitmq": (
        "endpoints.oslo_messaging.auth.user.password",
        "endpoints.oslo_messaging.auth.guest.password",
        "endpoints.oslo_messaging.auth.erlang_cookie",
    ),
    "memcached": (),
    "keystone": (
        *_ADMIN,
        *_DATABASE,
        *_BROKER,
        "endpoints.oslo_db.auth.keystone.password",
        "endpoints.oslo_messaging.auth.keystone.password",
    ),
    "placement": (
        *_ADMIN,
        *_DATABASE,
        *_CACHE,
        "endpoints.identity.auth.placement.password",
        "endpoints.oslo_db.auth.placement.password",
    ),
    "glance": (
        *_ADMIN,
        *_DATABASE,
        *_BROKER,
        *_CACHE,
        "endpoints.identity.auth.glance.password",
        "endpoints.oslo_db.auth.glance.password",
        "endpoints.oslo_messaging.auth.glance.password",
    ),
    "openvswitch": (),
    "libvirt": (),
    "nova": (
        *_ADMIN,
        *_DATABASE,
        *_BROKER,
        *_CACHE,
        *(f"endpoints.identity.auth.{user}.password" for user in ("nova", "service", "neutron", "placement")),
        "endpoints.oslo_db.auth.nova.password",
        *(
            f"endpoints.oslo_db_{cell}.auth.{user}.password"
            for cell in ("cell0", "cell1")
            for user in ("admin", "nova")
        ),
        "endpoints.oslo_messaging.auth.nova.password",
        "conf.nova.neutron.metadata_proxy_shared_secret",
    ),
    "neutron": (
        *_ADMIN,
        *_DATABASE,
        *_BROKER,
        *_CACHE,
        *(f"endpoints.identity.auth.{user}.password" for user in ("neutron", "nova", "placement")),
        "endpoints.oslo_db.auth.neutron.password",
        "endpoints.oslo_messaging.auth.neutron.password",
        "conf.metadata_agent.DEFAULT.metadata_proxy_shared_secret",
    ),
}
LEAN = tuple(REQUIRED)


@cache
def chart(name: str) -> Chart:
    return Chart.load(str(CHARTS / name))


def own_values(name: str) -> dict[str, Any]:
    """The chart's values.yaml."""
    read = yaml.load((CHARTS / name / "values.yaml").read_text(), yaml.CSafeLoader)
    assert isinstance(read, dict)
    return read


def planted(path: str) -> str:
    """A secret that can be recognized in what is rendered, whatever encodes it."""
    return "planted" + path.replace(".", "").replace("_", "")


def nest(path: str, value: Any) -> dict[str, Any]:
    """{a: {b: value}} of the path a.b."""
    for key in reversed(path.split(".")):
        value = {key: value}
    assert isinstance(value, dict)
    return value


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Maps merged at all levels, as Helm merges values."""
    result = copy.deepcopy(dict(base))
    for key, value in over.items():
        present = result.get(key)
        if isinstance(value, Mapping) and isinstance(present, Mapping):
            result[key] = merged(present, value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def credentials(name: str) -> dict[str, Any]:
    """Values that give the chart every secret it asks for."""
    values: dict[str, Any] = {}
    for path in REQUIRED[name]:
        values = merged(values, nest(path, planted(path)))
    return values


def manifests(
    name: str, values: Mapping[str, Any] | None = None, namespace: str = NAMESPACE
) -> dict[str, str]:
    """What Helm renders, by template, with all secrets given."""
    given = merged(credentials(name), values or {})
    rendered: dict[str, str] = chart(name).render(given, name=name, namespace=namespace)
    return rendered


def objects(
    name: str, values: Mapping[str, Any] | None = None, namespace: str = NAMESPACE
) -> list[dict[str, Any]]:
    """The rendered objects; not to be changed."""
    return _objects(name, json.dumps(values or {}, sort_keys=True), namespace)


@cache
def _objects(name: str, values: str, namespace: str) -> list[dict[str, Any]]:
    rendered = manifests(name, json.loads(values), namespace)
    return [
        item
        for text in rendered.values()
        for item in yaml.load_all(text, yaml.CSafeLoader)
        if item is not None
    ]


def the(found: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    """The one object of this kind and name."""
    matching = [item for item in found if item["kind"] == kind and item["metadata"]["name"] == name]
    assert len(matching) == 1, sorted((item["kind"], item["metadata"]["name"]) for item in found)
    return matching[0]


def decoded(secret: Mapping[str, Any]) -> dict[str, str]:
    """The data of a Secret as text."""
    return {key: base64.b64decode(value).decode() for key, value in secret.get("data", {}).items()}


def options(text: str) -> dict[str, dict[str, list[str]]]:
    """An oslo ini file as section → option → values; an option may be there several times."""
    sections: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif " = " in line:
            option, value = line.split(" = ", 1)
            section.setdefault(option, []).append(value)
    return sections


def pod_specs(found: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pod spec of every workload, with the workload's kind and name."""
    for item in found:
        spec = item.get("spec", {})
        template = spec.get("jobTemplate", {}).get("spec", spec).get("template")
        if template:
            yield f"{item['kind']}/{item['metadata']['name']}", template["spec"]
