"""Waits until an upgrade is over, and shows every change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.padding import Padding
from rich.text import Text

from controller.cli.cluster import Cluster
from controller.cli.exit_codes import ExitCode
from controller.cli.output import soft_wrapped, stderr, stdout
from controller.cli.views.readiness import RegionOutcome, RegionReadiness, judge
from controller.cli.views.upgrade.display import upgrade_display
from controller.cli.views.upgrade.status import UpgradeView, upgrade_view
from controller.cli.waiting import POLL_SECONDS
from controller.domain.region.upgrade.upgrade_state import StepState
from controller.domain.region.upgrade.upgrade_steps import Phase
from controller.errors import ApiUnavailable, ObjectMissing
from controller.ports.kubernetes import OSDPL, KubeObject
from controller.ports.system import Clock


@dataclass(frozen=True)
class AwaitedUpgrade:
    """What is waited for: how the upgrade ends, and whether the wait also `stops` when it waits for a person.

    `generation`: the controller must have read this one. `target`: its version, empty for any. `step`: the
    wait ends when this step is done.
    """

    end: Phase = Phase.FINISHED
    stops: bool = True
    generation: int = 0
    target: str = ""
    step: str = ""


def no_upgrade(region: Mapping[str, Any]) -> str:
    """What is said of a region that was never upgraded."""
    version = (region.get("status") or {}).get("openstackVersion") or "no version yet"
    name = region["metadata"]["name"]
    return f"{name}: runs {version}; no upgrade was made. See what one would do: osctl upgrade plan VERSION"


def wait_for_upgrade(
    cluster: Cluster,
    region: KubeObject,
    awaited: AwaitedUpgrade,
    *,
    timeout: float,
    clock: Clock,
    sleep: Callable[[float], None],
) -> ExitCode:
    """Shows every change until the upgrade is over, or `timeout` seconds."""
    until = clock.monotonic() + timeout
    display = upgrade_display(stderr(), clock)
    view: UpgradeView | None = None
    try:
        while True:
            found = _observe(cluster, region)
            view = _view(found, awaited, clock.now()) or view
            if view is not None:
                display.show(view)
            code = _decide(view, judge(found, awaited.generation) if found else None, awaited)
            if code is None and clock.monotonic() > until:
                code = ExitCode.NOT_READY
            if code is not None:
                break
            sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    finally:
        display.close()
    _conclude(found or region, view, code)
    return code


def _observe(cluster: Cluster, region: KubeObject) -> KubeObject | None:
    """The region as it is now; None while the API server does not answer."""
    meta = region["metadata"]
    try:
        found = cluster.kube.get(OSDPL, meta["name"], meta["namespace"])
    except ApiUnavailable:
        return None
    if found is None:
        raise ObjectMissing(f"{meta['name']} was deleted meanwhile")
    return found


def _view(found: KubeObject | None, awaited: AwaitedUpgrade, now: float) -> UpgradeView | None:
    if found is None or int((found.get("status") or {}).get("observedGeneration") or 0) < awaited.generation:
        return None
    view = upgrade_view(found, now)
    return view if view is not None and awaited.target in ("", view.upgrade.target) else None


def _decide(
    view: UpgradeView | None, readiness: RegionReadiness | None, awaited: AwaitedUpgrade
) -> ExitCode | None:
    """The exit code, or None to continue."""
    if view is not None and view.upgrade.over:
        return ExitCode.OK if view.upgrade.phase == awaited.end else ExitCode.NEEDS_EDIT
    if readiness is None:
        return None
    if view is None:
        ends = {RegionOutcome.READY: ExitCode.OK, RegionOutcome.NEEDS_EDIT: ExitCode.NEEDS_EDIT}
        return ends.get(readiness.outcome)
    step = next((one for one in view.steps if one.name == awaited.step), None)
    if step is not None and step.state == StepState.DONE:
        return ExitCode.OK
    # The controller has not read yet that this step may begin.
    allowed = step is not None and step.state == StepState.PENDING and not view.obstacle
    return ExitCode.NEEDS_EDIT if awaited.stops and view.waits and not allowed else None


def _conclude(region: KubeObject, view: UpgradeView | None, code: ExitCode) -> None:
    name = region["metadata"]["name"]
    if code == ExitCode.INTERRUPTED:
        stderr().print("stopped watching; the controller continues")
        return
    if view is None:
        text = no_upgrade(region)
        if code != ExitCode.OK:
            readiness = judge(region)
            text = f"{name}: the upgrade has not begun: {readiness.reason}: {readiness.message}"
        stdout().print(Text(soft_wrapped(text), "" if code == ExitCode.OK else "bold red"))
        return
    stdout().print(
        Text(f"{name}: {soft_wrapped(view.headline)}", "green" if code == ExitCode.OK else "bold red")
    )
    if code == ExitCode.OK:
        return
    for text in (view.obstacle or view.message, f"next: {view.next}"):
        stdout().print(Padding(soft_wrapped(text), (0, 0, 0, 2), expand=False))
