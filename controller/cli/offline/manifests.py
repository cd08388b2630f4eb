"""Renders releases by Helm's program, without a cluster and without a secret."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from controller.adapters.charts.source import ChartStore
from controller.adapters.helm.client import HelmProgram
from controller.adapters.helm.program import VARIABLE, find_program
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.releases.sizes.release_size import nearly_too_large, release_octets, too_large
from controller.domain.values.chart_values import Values
from controller.domain.values.option_files import NO_OPTION_FILES
from controller.domain.values.secret_refs import resolve
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.ports.helm import HelmClient, HelmRequest, RenderedRelease
from controller.ports.kubernetes import Kube


def render_release(release: ReleaseSpec, charts: ChartStore, helm: HelmClient) -> RenderedRelease:
    """The manifest that Helm would send to the cluster, with names for secrets. Raises ChartInvalid."""
    values = _stood_in(release)
    request = HelmRequest(release.name, release.namespace, charts.locate(release.chart), values)
    return helm.render(request)


def size_problem(release: ReleaseSpec, charts: ChartStore, rendered: RenderedRelease) -> tuple[str, bool]:
    """A note on the size of the release's record, empty if it is small, and whether Kubernetes would refuse
    it."""
    values = _stood_in(release)
    files, defaults = charts.files(release.chart), charts.defaults(release.chart)
    octets = release_octets(files, defaults, values, rendered.text)
    refused = too_large(octets)
    return refused or nearly_too_large(octets), bool(refused)


def offline_helm() -> HelmClient:
    """Helm for rendering; its other actions have no cluster to work on. Raises ProgramMissing."""
    named = os.environ.get(VARIABLE)
    return HelmProgram(cast(Kube, _NoKube()), find_program(Path(named) if named else None))


def _stood_in(release: ReleaseSpec) -> Values:
    # What stands for a secret is the same text in every file.
    return resolve(release.values, _stand_in, NO_OPTION_FILES, release=release.name).values


def _stand_in(name: str, key: str) -> str | None:
    # Names of accounts are those of the charts, without a suffix, until they are rotated.
    return None if key == ACCOUNT_SUFFIX else f"<{name}/{key}>"


class _NoKube:
    """Replaces the API server, which rendering does not use."""

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"rendering does not use a cluster, so {name} is not available")
