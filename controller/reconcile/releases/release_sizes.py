"""The sizes of releases: reported before Helm is asked to write what the API server would refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controller.domain.api.keys import ReleaseKey
from controller.domain.api.reasons import Reason
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.releases.bundle_status import ReleaseView
from controller.domain.releases.sizes.release_size import nearly_too_large, release_octets, too_large
from controller.domain.values.secret_refs import ResolvedValues
from controller.errors import ChartInvalid, HelmFailed, SecretMissing
from controller.ports.helm import HelmRequest, RenderedRelease
from controller.reconcile.releases.actions.helm_request import next_revision
from controller.reconcile.releases.observe_bundle import ObservedBundle
from controller.reconcile.releases.observe_release import ObservedRelease
from controller.reconcile.releases.parts import ReleasePorts

# What runs, what is desired, and what was desired before that.
_REMEMBERED = 3


class ReleaseSizes:
    """Estimates each release once for each digest, from a render; the status remembers what runs."""

    def __init__(self, ports: ReleasePorts) -> None:
        self._helm = ports.helm
        self._charts = ports.charts
        self._events = ports.events
        self._known: dict[ReleaseKey, dict[str, int]] = {}

    def too_large(self, observed: ObservedBundle, release: ObservedRelease) -> str:
        """Why the record of the desired release could not be stored; empty if it can be, or if this is
        unknown."""
        desired = release.desired
        if desired is None or desired.resolved is None or not desired.digest:
            return ""
        known = self._known.setdefault(observed.key(release.name), {})
        if desired.digest not in known:
            octets = self._estimate(observed, release, desired.spec, desired.resolved)
            if octets is None:
                return ""
            while len(known) >= _REMEMBERED:
                known.pop(next(iter(known)))
            known[desired.digest] = octets
            self._report(observed, release.name, octets)
        return too_large(known[desired.digest])

    def forget(self, key: ReleaseKey) -> None:
        """The release is gone."""
        self._known.pop(key, None)

    def shown(self, observed: ObservedBundle, view: ReleaseView) -> ReleaseView:
        """The view with the size of the revision that it shows, if that is known."""
        octets = self._known.get(observed.key(view.name), {}).get(view.digest, 0)
        if not octets:
            entries = (observed.obj.get("status") or {}).get("releases") or []
            empty: dict[str, Any] = {}
            before = next((one for one in entries if one.get("name") == view.name), empty)
            octets = int(before.get("bytes") or 0) if before.get("valuesDigest") == view.digest else 0
        return replace(view, octets=octets)

    def of_rendered(self, spec: ReleaseSpec, values: ResolvedValues, rendered: RenderedRelease) -> int:
        """Size of a release that was rendered already. Raises ChartInvalid."""
        files, defaults = self._charts.files(spec.chart), self._charts.defaults(spec.chart)
        return release_octets(files, defaults, values.values, rendered.text)

    def _estimate(
        self, observed: ObservedBundle, release: ObservedRelease, spec: ReleaseSpec, values: ResolvedValues
    ) -> int | None:
        """None when it cannot be rendered now: the action itself will tell why."""
        namespace = observed.bundle.namespace
        try:
            request = HelmRequest(
                spec.name,
                namespace,
                self._charts.locate(spec.chart),
                values.values,
                revision=next_revision(release.revisions),
            )
            return self.of_rendered(spec, values, self._helm.render(request))
        except (ChartInvalid, HelmFailed, SecretMissing):
            return None

    def _report(self, observed: ObservedBundle, name: str, octets: int) -> None:
        for reason, text in (
            (Reason.RELEASE_TOO_LARGE, too_large(octets)),
            (Reason.RELEASE_LARGE, nearly_too_large(octets)),
        ):
            if text:
                message = f"release {name}: {text}"
                self._events.emit(observed.obj, type_=reason.event, reason=reason, message=message)
