"""What would become of the objects of running releases: those that a region renders, beside the recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from controller.cli.adopting.leftovers import Leftovers
from controller.cli.adopting.running import RunningRelease
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.releases.manifest_diff import ManifestDiff, diff_manifests, same_objects
from controller.domain.values.option_files import OptionFiles
from controller.domain.values.secret_refs import resolve
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.errors import ChartInvalid, HelmFailed, SecretMissing, SpecInvalid
from controller.ports.charts import ChartSource
from controller.ports.helm import HelmClient, HelmRequest


@dataclass(frozen=True)
class ComparedObjects:
    """`difference` is None where nothing is recorded, or where `problem` says why it is not known. `equal`:
    Helm would send the very same, hooks included."""

    release: str
    difference: ManifestDiff | None = None
    equal: bool = False
    problem: str = ""


@dataclass(frozen=True)
class ObjectComparison:
    """Renders releases with the texts of their Secrets, in memory."""

    leftovers: Leftovers
    charts: ChartSource
    helm: HelmClient
    files: OptionFiles

    def all(self, running: Iterable[RunningRelease]) -> list[ComparedObjects]:
        """Of each release that the region has, too."""
        found = []
        for one in running:
            release = self.leftovers.region.region.release(one.name)
            if release is not None:
                found.append(self._compared(one, release.spec))
        return found

    def _compared(self, running: RunningRelease, spec: ReleaseSpec) -> ComparedObjects:
        if running.manifest is None:
            return ComparedObjects(running.name)
        upstream, files = bool(spec.chart.repository), self.files.with_chart(spec.chart.name)
        try:
            values = resolve(spec.values, self._text, files, release=spec.name, upstream=upstream).values
            path, revision = self.charts.locate(spec.chart), running.revision
            request = HelmRequest(
                spec.name, spec.namespace, path, values, revision=revision if revision > 1 else 0
            )
            rendered = self.helm.render(request)
        except (ChartInvalid, HelmFailed, SecretMissing, SpecInvalid) as error:
            # Its text may quote what was rendered.
            return ComparedObjects(running.name, problem=f"cannot be rendered ({type(error).__name__})")
        before = running.manifest
        difference = diff_manifests(
            before.manifest, rendered.manifest, rendered.hooks, old_hooks=before.hooks
        )
        equal = same_objects((*before.manifest, *before.hooks), (*rendered.manifest, *rendered.hooks))
        return ComparedObjects(running.name, difference, equal)

    def _text(self, name: str, key: str) -> str | None:
        if key == ACCOUNT_SUFFIX:
            return None
        return self.leftovers.text(name, key) or f"<{name}/{key}>"
