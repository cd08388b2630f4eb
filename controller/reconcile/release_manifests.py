"""What the deployed revision of each release has put into the cluster, read once for each revision."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from controller.domain.health import Release
from controller.domain.workloads import Manifest, parse_manifest
from controller.errors import ReleaseMissing
from controller.helm_port import ReleaseRecords

log = logging.getLogger(__name__)


class ReleaseManifests:
    """Names of workloads and hooks by release; what else a record holds is not kept.

    Not thread-safe: one reconciler asks.
    """

    def __init__(self, records: ReleaseRecords, namespace: str) -> None:
        self._records = records
        self._namespace = namespace
        self._known: dict[str, tuple[int, Manifest]] = {}

    def of(self, releases: Mapping[str, Release]) -> dict[str, Manifest]:
        """The manifests of those that are deployed. Raises KubeError."""
        result = {}
        for gone in self._known.keys() - releases.keys():
            del self._known[gone]
        for name, release in releases.items():
            if not (release.deployed and release.revision):
                continue
            known = self._known.get(name)
            if known is None or known[0] != release.revision:
                known = self._read(release)
            if known is not None:
                self._known[name] = known
                result[name] = known[1]
        return result

    def _read(self, release: Release) -> tuple[int, Manifest] | None:
        try:
            rendered = self._records.manifest(release.name, self._namespace, release.revision)
        except ReleaseMissing:
            # A newer revision has pushed it out; the bundle's status will name that one.
            log.debug("revision %d of release %s is gone", release.revision, release.name)
            return None
        manifest = parse_manifest(release.name, self._namespace, rendered.manifest, rendered.hooks)
        return release.revision, manifest
