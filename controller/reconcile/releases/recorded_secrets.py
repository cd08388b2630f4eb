"""Secrets in what Helm has recorded of a release: what errors may quote that no spec tells any more.

The values of a spec are not at hand when a release is taken away, goes back to an older revision, or has its
objects corrected: Helm's record then is all that knows which texts its hooks and objects hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.releases.actions import Action
from controller.domain.releases.upgrade_jobs.jobs_first import OBJECTS_KEY
from controller.domain.shared.redaction import Redactor
from controller.domain.values.chart_values import texts_in
from controller.errors import HelmFailed
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import Kube, KubeObject
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.shared.secret_values import SecretValues

# The values of these are those of the spec, which the action was given with its secrets.
_SERVES_THE_SPEC = (Action.INSTALL, Action.UPGRADE)


class RecordedSecrets:
    """Makes redactors for actions that work on what is recorded. Reads nothing until it is asked."""

    def __init__(self, kube: Kube, records: ReleaseRecords) -> None:
        self._kube = kube
        self._records = records

    def redactor(self, request: ActionRequest) -> Redactor:
        """The action's redactor, with what the record that it works on holds of secrets.

        Raises KubeError when that cannot be read.
        """
        if request.action in _SERVES_THE_SPEC:
            return request.redactor
        back = request.action == Action.ROLLBACK
        version = request.requests.rollback_revision if back else request.version
        namespace, release = request.key
        try:
            values = self._records.given_values(release, namespace, version)
            given = set(texts_in({key: part for key, part in values.items() if key != OBJECTS_KEY}))
            rendered = self._records.manifest(release, namespace, version)
        except HelmFailed:
            # There is no such revision, or it is unreadable: no action can have used its values.
            return request.redactor
        # Which values were references is not recorded, and their Secrets may be gone: any may be a secret,
        # also one that a ConfigMap of the chart quotes. But what has such a name is recognized by it.
        objects = (*rendered.manifest, *rendered.hooks)
        kept = given & SecretValues(self._kube, namespace).of_no_release()
        images = {text for obj in objects for text in _images(obj)}
        names = {release, namespace, *(text for obj in objects for text in _names(obj))}
        return request.redactor.including(kept | (given - images)).sparing(names)


def _names(obj: KubeObject) -> Iterator[str]:
    """Its kind, its name, and what its labels say of it."""
    meta = obj.get("metadata") or {}
    yield from (str(obj.get("kind")), str(meta.get("name")), *map(str, (meta.get("labels") or {}).values()))


def _images(value: Any) -> Iterator[str]:
    """The images of all containers, whatever kind has them."""
    if isinstance(value, Mapping):
        image = value.get("image")
        if isinstance(image, str):
            yield image
        for part in value.values():
            yield from _images(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _images(part)
