"""The revisions that the next action of Helm may start from: the newest one, and the newest deployed one."""

from __future__ import annotations

from collections.abc import Mapping

from controller.errors import HelmFailed, ReleaseMissing
from controller.ports.helm import ReleaseRecords, RenderedRelease
from controller.ports.kubernetes import KubeObject

BaseRevisions = Mapping[int, RenderedRelease]


def base_revisions(records: ReleaseRecords, release: str, namespace: str) -> BaseRevisions:
    """What they have put into the cluster, by number, the lower one first. Raises KubeError.

    Large records take a while to read: an action reads them once.
    """
    history = records.observe(namespace, releases=(release,)).get(release, ())
    deployed = tuple(one for one in history if one.status == "deployed")
    found: dict[int, RenderedRelease] = {}
    for revisions in (history, deployed):
        for one in reversed(revisions):
            if one.version not in found:
                try:
                    found[one.version] = records.manifest(release, namespace, one.version)
                except (ReleaseMissing, HelmFailed):
                    continue  # Helm cannot start from an unreadable record either
            break
    return dict(sorted(found.items()))


def all_revisions(records: ReleaseRecords, release: str, namespace: str) -> BaseRevisions:
    """As `base_revisions`, for all recorded revisions: each can become the newest one if records are
    deleted."""
    found: dict[int, RenderedRelease] = {}
    for one in records.observe(namespace, releases=(release,)).get(release, ()):
        try:
            found[one.version] = records.manifest(release, namespace, one.version)
        except HelmFailed:
            continue  # dropped since, or unreadable, also for Helm
    return found


def deployed_manifest(records: ReleaseRecords, release: str, namespace: str) -> tuple[KubeObject, ...]:
    """The objects of the deployed revision; none where it cannot be read. Raises KubeError."""
    history = records.observe(namespace, releases=(release,)).get(release, ())
    deployed = [one.version for one in history if one.status == "deployed"]
    try:
        return records.manifest(release, namespace, deployed[-1]).manifest if deployed else ()
    except HelmFailed:
        return ()
