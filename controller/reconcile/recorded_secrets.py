"""Secrets in what Helm has recorded of a release: what errors may quote that no spec tells any more.

The values of a spec are not at hand when a release is taken away, goes back to an older revision, or has its
objects put right: Helm's record then is all that knows which texts its hooks and objects hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from controller.domain.redaction import Redactor
from controller.domain.release_state import Action
from controller.domain.requests import Requests
from controller.errors import HelmFailed
from controller.helm_port import ReleaseRecords
from controller.ports import SECRET, Kube
from controller.reconcile.action_slots import ReleaseKey
from controller.reconcile.secret_values import SecretValues

# The values of these are those of the spec, which the action was given with its secrets.
_SERVES_THE_SPEC = (Action.INSTALL, Action.UPGRADE)


class Acting(Protocol):
    """An action on a release: `version` is the revision it makes or works on, `redactor` knows the secrets
    of the values that it was given."""

    @property
    def action(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def requests(self) -> Requests: ...

    @property
    def redactor(self) -> Redactor: ...


class RecordedSecrets:
    """Makes redactors for actions that work on what is recorded. Reads nothing until it is asked."""

    def __init__(self, kube: Kube, records: ReleaseRecords) -> None:
        self._kube = kube
        self._records = records

    def redactor(self, key: ReleaseKey, acting: Acting) -> Redactor:
        """The action's redactor, with what the record that it works on holds of secrets.

        Raises KubeError when that cannot be read.
        """
        if acting.action in _SERVES_THE_SPEC:
            return acting.redactor
        back = acting.action == Action.ROLLBACK
        version = acting.requests.rollback_revision if back else acting.version
        namespace, release = key
        return acting.redactor.including(self._of(release, namespace, version))

    def _of(self, release: str, namespace: str, version: int) -> frozenset[str]:
        """The given values that somebody keeps in a Secret, or that the release does not show openly.

        Which values were references is not recorded, and the Secret may be gone. A text that stands in the
        release's own Deployments or ConfigMaps anybody may read who sees a status: its name, for one.
        """
        try:
            given = set(_texts(self._records.given_values(release, namespace, version)))
            rendered = self._records.manifest(release, namespace, version)
        except HelmFailed:
            # No such revision, or one that nobody can read: no action can have had its values.
            return frozenset()
        kept = given & SecretValues(self._kube, namespace).of_no_release()
        others = given - kept
        shown = [obj for obj in (*rendered.manifest, *rendered.hooks) if obj.get("kind") != SECRET.kind]
        openly = "\n".join(text for obj in shown for text in _texts(obj))
        return frozenset(kept | {text for text in others if text not in openly})


def _texts(value: Any) -> Iterator[str]:
    """Every text in values or in an object, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
