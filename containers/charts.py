"""Where the charts of a region come from: the image, or a repository that `spec.charts` names."""

from __future__ import annotations

from pathlib import Path

from controller.adapters.chart_source import ChartStore
from controller.settings import Settings


def chart_store(settings: Settings) -> ChartStore:
    """Charts of the image, and pulled ones kept in the container's own cache."""
    return ChartStore(settings.charts_dir, cache=settings.chart_cache, pull=_pull)


def _pull(name: str, version: str, repository: str, directory: Path) -> None:
    # Helm's library costs 58 MiB: only a region whose charts are in a repository pays for it in core.
    from controller.adapters.helm_pull import pull_chart

    pull_chart(name, version, repository, directory)
