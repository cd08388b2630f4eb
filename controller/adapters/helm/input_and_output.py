"""Input and output of Helm: the same for the library and the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from controller.domain.values.chart_values import Values
from controller.errors import ChartInvalid, HelmFailed
from controller.ports.helm import HookRun


def require_chart(path: str) -> None:
    """Raises ChartInvalid if `path` does not exist, because Helm would search the user's repositories."""
    if not Path(path).exists():
        raise ChartInvalid(f"chart {path}: there is no such file or directory")


def values_text(values: Values) -> str:
    """The values as JSON, which is YAML too. Raises HelmFailed for values that JSON cannot hold."""
    try:
        return json.dumps(values, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        # The text of these errors contains a type, never a value.
        raise HelmFailed(f"the values cannot be written as JSON: {error}") from None


def epoch(stamp: object) -> float:
    """Seconds since the epoch of a time as Go writes it, 0 if there is none."""
    try:
        return datetime.fromisoformat(str(stamp)).timestamp()
    except ValueError:
        return 0.0


def hook_runs(hooks: Iterable[Mapping[str, Any]]) -> tuple[HookRun, ...]:
    """Hooks as a release's record shows them."""
    return tuple(
        HookRun(
            name=str(hook.get("name", "")),
            kind=str(hook.get("kind", "")),
            events=tuple(hook.get("events") or ()),
            weight=int(hook.get("weight") or 0),
            phase=hook_phase(hook),
        )
        for hook in hooks
    )


def hook_phase(hook: Mapping[str, Any]) -> str:
    """`Running`, `Succeeded`, `Failed`, or `Unknown` also for a hook that has not run yet."""
    return str((hook.get("last_run") or {}).get("phase") or "Unknown")
