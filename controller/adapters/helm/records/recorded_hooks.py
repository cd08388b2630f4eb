"""Hooks in a release's record: those that an uninstall runs, and the objects that they leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.adapters.helm.manifests import KEEP_ANNOTATION, annotations_of, parse_manifests
from controller.ports.kubernetes import KubeObject

RecordedHook = Mapping[str, Any]

_OF_THE_UNINSTALL = frozenset(("pre-delete", "post-delete"))
# Kinds whose deletion also deletes data or objects of others.
_NEVER_DELETED = frozenset(
    ("PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition")
)


def is_of_the_uninstall(hook: RecordedHook) -> bool:
    return bool(_OF_THE_UNINSTALL & set(hook.get("events") or ()))


def is_of_both(hook: RecordedHook) -> bool:
    """Whether the uninstall runs a hook that another action runs as well."""
    return is_of_the_uninstall(hook) and not set(hook["events"]) <= _OF_THE_UNINSTALL


def ended_the_uninstall_badly(hook: RecordedHook) -> bool:
    """Whether a post-delete hook has failed.

    Helm ignores that failure (helm.sh/helm/v4/pkg/action, Uninstall).
    """
    failed = (hook.get("last_run") or {}).get("phase") == "Failed"
    return failed and "post-delete" in (hook.get("events") or ())


def outlives_its_success(hook: RecordedHook) -> bool:
    """Whether Helm leaves the hook's object once it has succeeded."""
    return "hook-succeeded" not in (hook.get("delete_policies") or ())


def stays(hook: RecordedHook) -> bool:
    """Whether a hook has run and left a Job that must stay, because pods wait for it at their start."""
    ran = (hook.get("last_run") or {}).get("phase") == "Succeeded"
    return ran and outlives_its_success(hook) and hook.get("kind") == "Job" and hook.get("events") != ["test"]


def has_begun(hook: RecordedHook) -> bool:
    """Whether Helm created the hook's object or was about to: it records the time before
    (helm.sh/helm/v4/pkg/action, execHook). The phase alone is not enough, because it is unknown after an
    interruption.
    """
    started = str((hook.get("last_run") or {}).get("started_at") or "")
    return bool(started) and not started.startswith("0001-")


def deletable_objects(hook: RecordedHook) -> Iterator[KubeObject]:
    """The objects of the hook, without those that must outlive its release."""
    for obj in parse_manifests(str(hook.get("manifest", ""))):
        if obj["kind"] not in _NEVER_DELETED and annotations_of(obj).get(KEEP_ANNOTATION) != "keep":
            yield obj
