"""The Secrets in which Helm keeps its records.

A revision is one Secret `sh.helm.release.v1.<release>.v<version>` of type `helm.sh/release.v1`. Its
labels say name, version and status (helm.sh/helm/v4/pkg/storage/driver).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from controller.adapters.helm.records.record_texts import decode_record, encode_record
from controller.domain.api.names import BUNDLE_LABEL
from controller.errors import Conflict, ReleaseMissing
from controller.ports.kubernetes import SECRET, Kube, KubeObject, KubeObjects

RECORD_TYPE = "helm.sh/release.v1"
_ATTEMPTS = 5
# With more names than this, listing everything is cheaper, and the URL would be too long.
_MOST_NAMED = 40


def record_name(release: str, version: int) -> str:
    """The name of the Secret of a revision."""
    return f"sh.helm.release.v1.{release}.v{version}"


class RecordSecrets:
    """Reads records, and rewrites them only as they were read."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def records_of(self, namespace: str, bundle: str, releases: Collection[str]) -> KubeObjects:
        """The metadata of records, of a bundle's releases or of named ones; of all without both."""
        names = set(releases)
        if bundle:
            made = self._list(namespace, f",{BUNDLE_LABEL}={bundle}")
            # Only the names: objects of a bundle may now belong to another one, which newer records show.
            names |= {str(record["metadata"]["labels"].get("name", "")) for record in made}
        if (bundle or releases) and not names:
            return []
        named = f",name in ({','.join(sorted(names))})" if 0 < len(names) <= _MOST_NAMED else ""
        return self._list(namespace, named)

    def _list(self, namespace: str, more: str) -> KubeObjects:
        return self._kube.list_metadata(
            SECRET, namespace, labels=f"owner=helm{more}", fields=f"type={RECORD_TYPE}"
        )

    def insist(
        self, release: str, namespace: str, version: int, change: Callable[[dict[str, Any]], bool]
    ) -> None:
        """Changes an existing record, also if others write it at the same time."""
        for _ in range(_ATTEMPTS):
            try:
                self.rewrite(release, namespace, version, change)
            except Conflict:
                continue  # Helm wrote in between, so the record is read again
            except ReleaseMissing:
                return
            return
        raise Conflict(f"the record of release {release} changes faster than it can be read")

    def newest(self, release: str, namespace: str) -> int | None:
        """The newest revision, None where there is none."""
        return max(self.versions(release, namespace), default=None)

    def versions(self, release: str, namespace: str) -> list[int]:
        """All revisions that have a record."""
        records = self._kube.list_metadata(
            SECRET, namespace, labels=f"owner=helm,name={release}", fields=f"type={RECORD_TYPE}"
        )
        versions = [str(one["metadata"]["labels"].get("version", "")) for one in records]
        return [int(version) for version in versions if version.isdigit()]

    def read(self, release: str, namespace: str, version: int) -> tuple[KubeObject, dict[str, Any]]:
        """The Secret of a revision, and the record in it. Raises ReleaseMissing, HelmFailed."""
        name = record_name(release, version)
        secret = self._kube.get(SECRET, name, namespace)
        if secret is None:
            raise ReleaseMissing(f"release {release} has no revision {version} in namespace {namespace}")
        return secret, decode_record(str((secret.get("data") or {}).get("release", "")), name)

    def rewrite(
        self,
        release: str,
        namespace: str,
        version: int,
        change: Callable[[dict[str, Any]], bool],
        marks: Mapping[str, str] | None = None,
    ) -> bool:
        """Changes a record if `change` says so, or if it lacks a label of `marks`, only if it is unchanged
        since it was read.
        """
        secret, record = self.read(release, namespace, version)
        metadata = {key: part for key, part in secret["metadata"].items() if key != "managedFields"}
        labels = metadata.get("labels") or {}
        marked = {**labels, **(marks or {})}
        if not change(record) and marked == labels:
            return False
        metadata["labels"] = {**marked, "status": str(record["info"]["status"])}
        data = {**secret["data"], "release": encode_record(record)}
        rewritten = {**secret, "metadata": metadata, "data": data}
        self._kube.replace({"apiVersion": "v1", "kind": "Secret", **rewritten})
        return True
