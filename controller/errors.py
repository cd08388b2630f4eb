"""Every error the product raises on purpose, named by meaning.

Adapters translate the errors of their libraries into these; nothing above an adapter catches a
library's own exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

_MOST_SHOWN = 900  # characters of each part of a problem


class ControllerError(Exception):
    """Root of all errors of the controller. Its text is safe to show: it never holds a secret."""


@dataclass(frozen=True)
class Problem:
    """One mistake in an input.

    `path` is the JSON path (`spec.services.compute.nvoa`), `message` says what is wrong and `remedy`
    what would be right. `source` is `file:line` where the input came from a file, else empty. `rule` is the
    id of the rule that is broken (docs/reference-refusals.md), empty where it has none.
    """

    path: str
    message: str
    remedy: str = ""
    source: str = ""
    rule: str = field(default="", compare=False)

    def __str__(self) -> str:
        """One line; what someone made endless is cut."""
        place = f"{self.source}  " if self.source else ""
        tail = f"; {_cut(self.remedy)}" if self.remedy else ""
        return f"{place}{_cut(self.path)}: {_cut(self.message)}{tail}"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


class SpecInvalid(ControllerError):
    """The input cannot be served without an edit. Carries every problem found, not only the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class VersionStepRefused(SpecInvalid):
    """What runs cannot become what the spec asks for: it would be right for a new region."""


class BundleNameTaken(SpecInvalid):
    """HelmBundles of others have names that the region needs for its services."""


class OwnServerRuns(SpecInvalid):
    """The spec names an external server, and the region still runs its own one."""


class KubeError(ControllerError):
    """The Kubernetes API refused or failed a request."""


class Conflict(KubeError):
    """The object changed since it was read (409), or already exists on create."""


class ObjectMissing(KubeError):
    """The object to be written is not there, or not any more (404)."""


class ObjectReplaced(ObjectMissing):
    """The object that was read is gone, and another may have its name: a new pass reads that one."""


class Forbidden(KubeError):
    """The service account may not do this (401, 403). The message names verb and resource."""


class ObjectRefused(KubeError):
    """The API server refuses this object for good (400, 413, 422, undeclared fields)."""


class ObjectTooLarge(ObjectRefused):
    """An object or a request is larger than the API server or etcd accepts: another try cannot help."""


class ApiUnavailable(KubeError):
    """The API server cannot be reached, or is overloaded; worth another try.

    `retry_after` is in seconds, None when the server did not say.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def is_refusal(error: KubeError) -> bool:
    """Whether the API server said no to this one request, as an admission, a quota or a missing right does:
    it can be reached, and the object has not changed meanwhile."""
    return not isinstance(error, ApiUnavailable | Conflict | ObjectMissing)


class HelmFailed(ControllerError):
    """A Helm action ended badly. `message` is the cause as Helm tells it, not yet redacted.

    `interrupted`: by Helm's words a request of it was lost on the way, or the API server failed it.
    """

    def __init__(self, message: str, *, interrupted: bool = False) -> None:
        super().__init__(message)
        self.interrupted = interrupted


class RightMissing(HelmFailed):
    """A Helm action ended because an account of ours lacks a right. The message names the object and the
    rule."""


class KindMissing(HelmFailed):
    """A Helm action ended because the cluster does not define what the chart makes. The message names the
    kinds and the remedy."""


class HelmCancelled(HelmFailed):
    """A Helm action was cancelled by us, or reached its timeout; work may still be going on.

    `cut` says which of the two without Helm's words, such as `not done within 30 s`.
    """

    def __init__(self, message: str, cut: str = "") -> None:
        super().__init__(message)
        self.cut = cut or "cancelled"


class ReleaseMissing(HelmFailed):
    """The release or the revision asked for does not exist."""


class BackupUnusable(ControllerError):
    """A file is no backup that can be read, or not with this passphrase. The text quotes nothing of it."""


class ManifestInvalid(BackupUnusable):
    """The manifest of a backup is not one that a backup writes. Carries the problems; their texts quote
    nothing of it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))


class FileRefused(ControllerError):
    """A file of osctl cannot be written. The text names it and says why."""


class DriftRefused(ControllerError):
    """Objects of a release differ from it and cannot be corrected. The message names objects and paths."""


class FieldsFixed(ControllerError):
    """Objects of a release are to change in fields that are fixed for their life. The message names the
    objects and fields, and the way out."""


class ObjectsTaken(ControllerError):
    """Objects that a release would make are there already and belong to others. The message names them, their
    owners, and how one is handed over."""


class ChartInvalid(ControllerError):
    """A chart cannot be had, loaded or rendered. The message names the chart, the cause and the remedy.

    `retry_after`: seconds until another try may find something else, None when nothing is known.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ChartNotFound(ChartInvalid):
    """There is no such chart, or not in this version."""


class ChartUntrusted(ChartInvalid):
    """What was pulled is not what its repository lists: the digest differs."""


class ChartPending(ChartInvalid):
    """The chart is being pulled and is not there yet."""


class RepositoryUnavailable(ChartInvalid):
    """The repository of a chart does not answer, or answers with an error of its own."""


class RepositoryUntrusted(ChartInvalid):
    """The certificate of the repository is not trusted by the CA given."""


class RepositoryDenied(ChartInvalid):
    """The repository wants credentials, or others."""


class SecretMissing(ControllerError):
    """A `$secretRef` names a Secret or a key that is not there (yet)."""

    def __init__(self, name: str, key: str, release: str = "") -> None:
        self.name = name
        self.key = key
        what = f"release {release} needs it" if release else "it is referenced"
        super().__init__(f'Secret "{name}" has no key "{key}", and {what}')


class SecretReserved(SecretMissing):
    """A Secret is named that no value may come from, such as Helm's own records."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(name, "")
        self.args = (f'Secret "{name}" is {what}, and cannot be used by values, repositories or services',)


class ServerUnavailable(ControllerError):
    """A database, a broker or Keystone does not answer, or refuses us. The text names no password."""


class PasswordRefused(ServerUnavailable):
    """A server does not take another password for its administrator, who has the one before as ever."""


class RightRefused(ServerUnavailable):
    """An account has something that the next one cannot be given. The text says what, and what to do."""


class CloudUnavailable(ControllerError):
    """The region's OpenStack did not answer, or not completely: nothing follows from that.

    `retry_after` is in seconds, None when the server did not say. `untouched`: the request was not sent, or
    turned away before anything was done for it.
    """

    def __init__(self, message: str, retry_after: float | None = None, *, untouched: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.untouched = untouched


class CredentialsDenied(CloudUnavailable):
    """Keystone does not take the credentials: nothing else can be known until there are others."""


class CloudRefused(ControllerError):
    """OpenStack refused a request for good. `code` is the HTTP status."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class NotOffered(CloudRefused):
    """The service itself says that its cloud has no things of a kind."""


class CloudMissing(CloudRefused):
    """A clouds.yaml has no cloud, or its cloud no region, of the name that was asked for."""
