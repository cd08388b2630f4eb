"""The charts that osctl reads without a cluster, and the credentials of their repository."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from controller.adapters.charts.cache import ChartCache
from controller.adapters.charts.crash_guard import CrashGuard
from controller.adapters.charts.pull import PulledCharts
from controller.adapters.charts.source import ChartStore
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.region.deployment import ChartsSpec
from controller.domain.shared.secret_text import decode_text, without_end
from controller.domain.values.chart_builds import TestedBuilds
from controller.errors import RepositoryDenied
from controller.ports.kubernetes import SECRET
from controller.settings import shipped_files

# Environment variables that stand for keys of the Secrets that `spec.charts` names.
VARIABLES = {"username": "CHARTS_USERNAME", "password": "CHARTS_PASSWORD", "ca.crt": "CHARTS_CA_FILE"}


class GivenSecrets:
    """Secrets among the files of a command; otherwise the environment replaces them."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], str] = {}

    def learn(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Remembers the Secrets among the objects."""
        for obj in objects:
            if obj.get("kind") == SECRET.kind and obj.get("apiVersion") == SECRET.api_version:
                name = str((obj.get("metadata") or {}).get("name") or "")
                self._texts.update({(name, key): text for key, text in secret_texts(obj)})

    def lookup(self, name: str, key: str) -> str | None:
        """The text under a key of a Secret. Raises RepositoryDenied, with the place for it."""
        if (name, key) in self._texts:
            return self._texts[name, key]
        variable = VARIABLES.get(key, "")
        given = os.environ.get(variable, "")
        if given and key != "ca.crt":
            return given
        if given:
            try:
                return Path(given).read_text(encoding="ascii")
            except (OSError, UnicodeDecodeError):
                raise RepositoryDenied(f"{variable}: {given} cannot be read as PEM") from None
        raise RepositoryDenied(
            f'the repository of the charts needs key "{key}" of Secret "{name}"; '
            f"give the Secret's file too, or set {variable}"
        )


def opened_by_environment(repository: str) -> ChartsSpec:
    """A repository that no region names, with credentials from the environment."""
    given = {key: "environment" if os.environ.get(variable) else "" for key, variable in VARIABLES.items()}
    return ChartsSpec("", repository, {}, given["username"] or given["password"], given["ca.crt"])


def offline_charts(directory: Path, secrets: GivenSecrets, builds: TestedBuilds) -> ChartStore:
    """The charts of this installation, and pulled ones kept for the next command."""
    cache = ChartCache(chart_cache())
    pulled = PulledCharts(cache, SystemClock(), SystemRandomness(), read_secret=secrets.lookup)
    marks = CrashGuard(chart_cache() / "reading")
    fixed = directory == shipped_files() / "charts"
    return ChartStore(directory, pulled=pulled, cache=cache, marks=marks, fixed=fixed, builds=builds)


def chart_cache() -> Path:
    """CHART_CACHE_DIR, otherwise a directory of the user (XDG base directories)."""
    chosen = os.environ.get("CHART_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or ""
    root = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return root / "openstack-controller" / "charts"


def secret_texts(secret: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Keys and texts of a Secret, from a file or a cluster, as the controller reads them; without binary or
    empty values.
    """
    data, plain = secret.get("data"), secret.get("stringData")
    for key, encoded in data.items() if isinstance(data, Mapping) else ():
        text = decode_text(str(encoded))
        if text is not None:
            yield str(key), text
    for key, given in plain.items() if isinstance(plain, Mapping) else ():
        yield str(key), without_end(str(given))
