"""Pulls charts from repositories on the network with Helm's library."""

from __future__ import annotations

from pathlib import Path

from controller.adapters import helm_library  # noqa: F401 - loads the library under Helm's name
from controller.errors import ChartInvalid

import helm_python  # isort: skip


def pull_chart(name: str, version: str, repository: str, directory: Path) -> None:
    """Puts the archive of the chart at exactly this version into the directory.

    `repository` is the address of an `https://` repository, or of the `oci://` folder that holds the
    chart. Raises ChartInvalid with the cause: unreachable, no such chart or version, not trusted.
    """
    try:
        if repository.startswith("oci://"):
            helm_python.pull(f"{repository.rstrip('/')}/{name}", version=version, destination=directory)
        else:
            helm_python.pull(name, repo_url=repository, version=version, destination=directory)
    except helm_python.HelmError as error:
        raise ChartInvalid(f'chart "{name}" {version} of {repository}: {error.detail}') from None
