"""Takes over a release that others have installed, where it already runs exactly as its spec asks for.

Helm would send what it has sent before, run all hooks again and make a revision. None of it would change
anything, so only the labels of the newest record change: they make the revision the controller's own.
"""

from __future__ import annotations

from dataclasses import replace

from controller.domain.api.names import REVISION_LABEL
from controller.domain.releases.manifest_diff import same_objects
from controller.domain.releases.requests import is_answered, marks_in
from controller.errors import ReleaseMissing
from controller.ports.helm import HelmClient, HelmRequest, ReleaseRecords, Revision
from controller.reconcile.releases.action_request import ActionRequest, Done
from controller.reconcile.releases.actions.helm_request import insist_on_revisions, recorded_revisions
from controller.reconcile.releases.parts import ReleasePorts

TAKEN_OVER = "taken over without a change"


def runs_as_desired(helm: HelmClient, records: ReleaseRecords, request: HelmRequest, last: Revision) -> bool:
    """Whether the release was handed over, its hooks have run, and Helm would send exactly what its newest
    record holds, with all hooks. Raises as `HelmClient.render`."""
    if last.status != "deployed" or last.bundle or not last.handed_over:
        return False
    if not _hooks_have_run(helm, request, last):
        return False
    try:
        recorded = records.manifest(request.release, request.namespace, last.version)
    except ReleaseMissing:
        return False
    # The question is what that very revision would be, so templates get its number.
    same = replace(request, revision=last.version if last.version > 1 else 0)
    rendered = helm.render(same, server=True)
    return same_objects((*recorded.manifest, *recorded.hooks), (*rendered.manifest, *rendered.hooks))


def _hooks_have_run(helm: HelmClient, request: HelmRequest, last: Revision) -> bool:
    """Helm with --no-hooks records a revision as deployed whose Jobs never ran."""
    action = "upgrade" if last.version > 1 else "install"
    events = {f"pre-{action}", f"post-{action}"}
    runs = helm.hooks(request.release, request.namespace)
    return all(one.phase == "Succeeded" for one in runs if events & set(one.events))


def take_over(ports: ReleasePorts, request: ActionRequest, helm_request: HelmRequest) -> Done | None:
    """Makes the newest revision the bundle's own; None if only an upgrade makes the release as desired.

    Raises Conflict where another Helm has come in between, HelmFailed and KubeError.
    """
    revisions = ports.records.observe(request.namespace, releases=(request.release,)).get(request.release, ())
    last = revisions[-1] if revisions else None
    # A requested upgrade is made, whatever it changes.
    forced = not is_answered(request.requests.force, marks_in(one.forced for one in revisions))
    if last is None or forced:
        return None
    seen = recorded_revisions(ports.records, request)
    if not runs_as_desired(ports.helm, ports.records, helm_request, last):
        return None
    insist_on_revisions(ports.records, request, seen)
    labels = {**helm_request.labels, REVISION_LABEL: str(last.version)}
    given = {name: text for name, text in labels.items() if text}
    ports.records.relabel(request.release, request.namespace, last.version, given)
    return Done(TAKEN_OVER)
