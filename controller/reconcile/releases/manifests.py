"""What releases have put into the cluster, from Helm's records, each revision read once."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from controller.domain.health.region_health import Release
from controller.domain.health.workloads import Manifest, common_manifest, parse_manifest
from controller.errors import ControllerError, KubeError, ReleaseMissing
from controller.ports.helm import ReleaseRecords, Revision

log = logging.getLogger(__name__)


class ReleaseManifests:
    """Names of workloads and hooks by release; what else a record holds is not kept.

    Not thread-safe: one reconciler asks.
    """

    def __init__(self, records: ReleaseRecords, namespace: str) -> None:
        self._records = records
        self._namespace = namespace
        # By release: what was last said of it, and the revisions that count since.
        self._current: dict[str, tuple[Release, tuple[int, ...]]] = {}
        # By release and revision; None for one whose record cannot be read.
        self._known: dict[tuple[str, int], Manifest | None] = {}

    def of(self, releases: Mapping[str, Release], *, again: bool = False) -> dict[str, Manifest]:
        """What must be there of each release. One whose record cannot be read is left out, as is one
        that was never deployed. Raises KubeError.

        Of a release that is not deployed as it should be, that is what its last deployed revision and
        its newest one have in common: what a new revision has no more, Helm takes away in its course.
        With `again` these revisions are looked up again.
        """
        self._read(releases, again)
        result = {}
        for name, (_, revisions) in self._current.items():
            manifests = [self._manifest(name, revision) for revision in revisions]
            known = [one for one in manifests if one is not None]
            if known and len(known) == len(manifests):
                result[name] = common_manifest(known)
        return result

    def _read(self, releases: Mapping[str, Release], again: bool) -> None:
        before, self._current = self._current, {}
        changed = []
        for name, release in releases.items():
            known, revisions = before.get(name, (None, ()))
            if known == release and (release.deployed or not again):
                self._current[name] = release, revisions
            elif release.deployed and release.revision:
                self._current[name] = release, (release.revision,)
            elif release.revision:
                changed.append(release)
        names = [release.name for release in changed]
        histories = self._records.observe(self._namespace, releases=names) if names else {}
        for release in changed:
            self._current[release.name] = release, _counting(histories.get(release.name, ()))
        counting = {(name, one) for name, (_, revisions) in self._current.items() for one in revisions}
        for gone in self._known.keys() - counting:
            del self._known[gone]

    def _manifest(self, name: str, revision: int) -> Manifest | None:
        key = (name, revision)
        if key in self._known:
            return self._known[key]
        found: Manifest | None = None
        try:
            rendered = self._records.manifest(name, self._namespace, revision)
            found = parse_manifest(name, self._namespace, rendered.manifest, rendered.hooks)
        except ReleaseMissing:
            # A newer revision has pushed it out; the bundle's status will name that one.
            extra = {"object": f"{self._namespace}/{name}", "release": name, "reason": "ReleaseMissing"}
            log.debug("revision %d of release %s is gone", revision, name, extra=extra)
            return None
        except KubeError:
            raise
        except ControllerError as error:
            # The others are judged as ever: this one only loses the pass for what is gone of it.
            text = "revision %d of release %s: %s; missing workloads of the release are not reported"
            reason = type(error).__name__
            extra = {"object": f"{self._namespace}/{name}", "release": name, "reason": reason}
            log.warning(text, revision, name, error, extra=extra)
        self._known[key] = found
        return found


def _counting(history: Sequence[Revision]) -> tuple[int, ...]:
    """The last deployed revision, and the newest if that is another; nothing if none was ever deployed.

    Helm calls a revision `deployed` until another one is.
    """
    deployed = [one.version for one in history if one.status == "deployed"]
    return tuple(sorted({deployed[-1], history[-1].version})) if deployed else ()
