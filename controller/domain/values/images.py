"""Images of a release: another registry, single images, pull policy and pull secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.spec_rules import values as rules
from controller.domain.values.chart_values import DocumentPath, Values, lookup
from controller.domain.values.layer import Layer
from controller.domain.values.layer_order import LayerKind, SpecSource
from controller.domain.values.suggestion import unknown_key
from controller.errors import Problem

_DOCKER_HUB = "docker.io"


@dataclass(frozen=True)
class ImagesSpec:
    """Where images come from. `overrides` maps names of tags in chart values to whole images."""

    registry: str = ""
    pull_policy: str = ""
    pull_secrets: tuple[str, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)


def split_image(image: str) -> tuple[str, str]:
    """Registry and the rest of an image's name, by Docker's rule: a first part with a dot, a colon or
    `localhost` is a registry; without one it is Docker Hub."""
    first, slash, rest = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return first, rest
    return _DOCKER_HUB, image


def mirrored(image: str, registry: str) -> str:
    """The same image in another registry (which may end in a path)."""
    return f"{registry.rstrip('/')}/{split_image(image)[1]}"


def log_in_command(desired: ImagesSpec, secret: str) -> str:
    """The commands that make a pull secret for the registries that are named; the password is asked for."""
    images = (*([f"{desired.registry}/"] if desired.registry else ()), *desired.overrides.values())
    registries = sorted({split_image(image)[0] for image in images}) or ["REGISTRY"]
    log_ins = [f"podman login --authfile login.json {registry}" for registry in registries]
    kind = "--type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson=login.json"
    return " && ".join([*log_ins, f"kubectl -n {{namespace}} create secret generic {secret} {kind}"])


def image_layer(desired: ImagesSpec, spec: SpecSource, chart: str, lower: Values) -> Layer | None:
    """The layer that `desired` adds over what the layers below say, None where it changes nothing.

    A single image named in `overrides` is taken as it is written; all others go to `registry`.
    """
    tags = lookup(lower, ("images", "tags")) or {}
    overrides, registry = desired.overrides, desired.registry
    values: dict[str, Any] = {}
    origins: dict[DocumentPath, DocumentPath] = {
        ("images", "tags"): ("spec", "images", "registry"),
        **{("images", "tags", name): ("spec", "images", "overrides", name) for name in overrides},
        ("images", "pull_policy"): ("spec", "images", "pullPolicy"),
        **dict.fromkeys([("endpoints",), ("manifests",), ("secrets",)], ("spec", "images", "pullSecrets")),
    }
    new_tags = {
        name: overrides.get(name) or mirrored(image, registry)
        for name, image in tags.items()
        if name in overrides or (registry and isinstance(image, str))
    }
    images: dict[str, Any] = {"tags": new_tags} if new_tags else {}
    if desired.pull_policy and "pull_policy" in (lower.get("images") or {}):
        images["pull_policy"] = desired.pull_policy
    if images:
        values["images"] = images
    if desired.pull_secrets and lookup(lower, ("secrets", "oci_image_registry")) is not None:
        # The charts name one pull secret, and create it themselves by default.
        values["endpoints"] = {"oci_image_registry": {"auth": {"enabled": True}}}
        if "secret_registry" in (lower.get("manifests") or {}):
            values["manifests"] = {"secret_registry": False}
        values["secrets"] = {"oci_image_registry": {chart: desired.pull_secrets[0]}}
    return Layer(LayerKind.IMAGES, values, spec.source, (), spec.lines, origins) if values else None


def check_image_overrides(desired: ImagesSpec, known: frozenset[str]) -> list[Problem]:
    """Images under `spec.images` that no release has, and more pull secrets than charts take."""
    path: DocumentPath = ("spec", "images", "overrides")
    problems = [
        unknown_key(path, 'release has an image "%"', name, known)
        for name in desired.overrides
        if name not in known
    ]
    if len(desired.pull_secrets) > 1:
        problems.append(rules.ONE_PULL_SECRET.at("spec.images.pullSecrets[1]"))
    return problems


def image_names(values: Values) -> tuple[str, ...]:
    """All images that a release's values name, in order, without repeats.

    They stand under `images.tags`; containers that values add to a chart's pods bring their own.
    """
    tags = lookup(values, ("images", "tags")) or {}
    added = lookup(values, ("pod", "extraContainers")) or {}
    found = [*tags.values(), *(one.get("image") for each in added.values() for one in each or ())]
    return tuple(sorted({image for image in found if isinstance(image, str) and image}))


def images_by_tag(values: Iterable[Values]) -> dict[str, list[str]]:
    """The images of releases by the name of their tag in values: several, where charts differ."""
    found: dict[str, set[str]] = {}
    for each in values:
        for name, image in (lookup(each, ("images", "tags")) or {}).items():
            if isinstance(image, str) and image:
                found.setdefault(name, set()).add(image)
    return {name: sorted(found[name]) for name in sorted(found)}
