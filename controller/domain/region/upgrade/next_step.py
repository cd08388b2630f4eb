"""What an upgrade does next: the state machine of an upgrade. Pure.

One pass moves the upgrade by one state at most. The caller writes the new state into the status before it
acts on it, so that a controller that is killed anywhere continues where it was.

| phase | leaves it when |
|---|---|
| Preflight | every check has passed, warns or is skipped |
| Infrastructure, ControlPlane, Computes | each gate held for `healthyFor`; with `Smoke`, each check passed |
| Finish | the region is as its spec asks for, and the services have migrated their data |

A step is Pending until the step before it is Done, the spec does not pause the upgrade, and a person has
allowed it if `gates` is Manual. It is Preparing while servers are made ready for it, and nothing of it has
begun: an upgrade may still be taken back. It is Failed while its releases fail, too many nodes do, or its
smoke check has failed, and Running again when that is corrected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.region.upgrade.upgrade_state import (
    HOLDING,
    NO_CHANGE,
    Check,
    CheckState,
    NodeProgress,
    RunningImage,
    StepRecord,
    StepState,
    Upgrade,
)
from controller.domain.region.upgrade.upgrade_steps import Phase, UpgradeStep


@dataclass(frozen=True)
class StepFacts:
    """What is known of the step that runs or comes next.

    `unchanged`: it changes nothing. `prepares`: servers must be made ready before it begins. `returnable`:
    what it changes can be taken back. `failing` and `waiting` say why it fails, or what it waits for; both
    are empty once its releases are deployed, and its workloads are of the new version and healthy. `nodes`
    counts those of a step that goes node by node; `held`: the next ones wait for a person. `smoke` is the
    check that uses the service, None while it is not due.
    """

    unchanged: bool = False
    prepares: bool = False
    returnable: bool = True
    failing: str = ""
    waiting: str = ""
    nodes: NodeProgress = field(default=NodeProgress())
    held: bool = False
    smoke: Check | None = None


@dataclass(frozen=True)
class UpgradeFacts:
    """What a pass knows: the time, the checks that it has made, the present step, and the step that a person
    has allowed. `at_rest`: the region is as its spec asks for."""

    now: float
    checks: tuple[Check, ...] = ()
    step: StepFacts = field(default=StepFacts())
    allowed: str = ""
    at_rest: bool = False


def new_upgrade(
    source: str,
    target: str,
    steps: Iterable[UpgradeStep],
    now: float,
    images: Iterable[RunningImage] = (),
) -> Upgrade:
    """An upgrade before its checks. `images` are those that run."""
    records = tuple(StepRecord(step.name, step.service, step.phase) for step in steps)
    return Upgrade(source, target, records, started=now, message="the checks begin", images=tuple(images))


def advance(upgrade: Upgrade, policy: UpgradePolicy, facts: UpgradeFacts) -> Upgrade:
    """The upgrade after this pass."""
    if upgrade.over:
        return upgrade
    upgrade = replace(upgrade, held=False)
    if upgrade.phase == Phase.PREFLIGHT:
        return _after_checks(upgrade, policy, facts)
    step = upgrade.current
    if step is None:
        return _finish(upgrade, policy, facts)
    upgrade = replace(upgrade, phase=step.phase)
    if step.state == StepState.PENDING:
        return _maybe_begin(upgrade, step, policy, facts)
    if step.state == StepState.PREPARING:
        return _prepare(upgrade, step, facts)
    return _judge(upgrade, step, policy, facts)


def abort(upgrade: Upgrade, now: float) -> Upgrade:
    """The upgrade taken back. Only before its point of no return."""
    message = f"aborted: the region stays at {upgrade.source}"
    return replace(upgrade, phase=Phase.ABORTED, ended=now, message=message)


def _after_checks(upgrade: Upgrade, policy: UpgradePolicy, facts: UpgradeFacts) -> Upgrade:
    checks = tuple(_skipped(check, policy.skip_checks) for check in facts.checks)
    upgrade = replace(upgrade, checks=checks)
    if failed := _names(checks, CheckState.FAILED):
        return replace(upgrade, message=f"nothing has begun, because checks failed: {failed}")
    if running := _names(checks, CheckState.RUNNING):
        return replace(upgrade, message=f"checks run: {running}")
    if policy.paused:
        return replace(upgrade, held=True, message="spec.upgrade.paused is set: no step begins")
    first = upgrade.steps[0].phase if upgrade.steps else Phase.FINISH
    return replace(upgrade, phase=first, message="the checks have passed")


def _skipped(check: Check, skip: Sequence[str]) -> Check:
    if check.name in skip and check.state in HOLDING:
        return replace(check, state=CheckState.SKIPPED)
    return check


def _maybe_begin(upgrade: Upgrade, step: StepRecord, policy: UpgradePolicy, facts: UpgradeFacts) -> Upgrade:
    if facts.step.unchanged:
        done = replace(step, state=StepState.DONE, started=facts.now, ended=facts.now, message=NO_CHANGE)
        return _with(upgrade, done, f"{step.name}: {NO_CHANGE}")
    if policy.paused:
        text = f"spec.upgrade.paused is set: {step.name} does not begin"
        return replace(upgrade, held=True, message=text)
    if policy.manual and facts.allowed != upgrade.permission(step.name):
        return replace(upgrade, held=True, message=f"{step.name} waits for osctl upgrade continue")
    if facts.step.prepares:
        preparing = replace(step, state=StepState.PREPARING, started=facts.now)
        return _with(upgrade, preparing, f"{step.name} is prepared")
    return _begin(upgrade, replace(step, started=facts.now), facts)


def _begin(upgrade: Upgrade, step: StepRecord, facts: UpgradeFacts) -> Upgrade:
    begun = replace(step, state=StepState.RUNNING, message="")
    return replace(
        _with(upgrade, begun, f"{step.name} begins"),
        point_of_no_return=upgrade.point_of_no_return or not facts.step.returnable,
        nodes=facts.step.nodes,
    )


def _prepare(upgrade: Upgrade, step: StepRecord, facts: UpgradeFacts) -> Upgrade:
    if text := facts.step.failing or facts.step.waiting:
        return _with(upgrade, replace(step, message=text), f"{step.name} is prepared: {text}")
    return _begin(upgrade, replace(step, prepared=True), facts)


def _judge(upgrade: Upgrade, step: StepRecord, policy: UpgradePolicy, facts: UpgradeFacts) -> Upgrade:
    upgrade = replace(upgrade, nodes=facts.step.nodes, held=facts.step.held and not facts.step.failing)
    if facts.step.failing:
        text = facts.step.failing
        failed = replace(step, state=StepState.FAILED, healthy_since=0.0, message=text)
        return _with(upgrade, failed, f"{step.name} failed, and no other step begins: {text}")
    if facts.step.waiting:
        text = facts.step.waiting
        running = replace(step, state=StepState.RUNNING, healthy_since=0.0, message=text)
        return _with(upgrade, running, f"{step.name}: {text}")
    since = step.healthy_since or facts.now
    healthy = replace(step, state=StepState.RUNNING, healthy_since=since)
    if _settles(since, policy, facts.now):
        then = "osctl smoke" if policy.smoke else "the next step"
        text = f"healthy; {then} begins after {policy.healthy_for} s without a break"
        return _with(upgrade, replace(healthy, message=text), f"{step.name}: {text}")
    if policy.smoke and (facts.step.smoke is None or facts.step.smoke.state != CheckState.PASSED):
        return _await_smoke(upgrade, healthy, facts.step.smoke)
    done = replace(step, state=StepState.DONE, ended=facts.now, healthy_since=0.0, message="")
    return _with(upgrade, done, f"{step.name} is done")


def smoke_is_due(step: StepRecord, policy: UpgradePolicy, now: float) -> bool:
    """Whether the service of a step is to be used: it has been healthy for long enough."""
    since = step.healthy_since
    return policy.smoke and bool(since) and not _settles(since, policy, now)


def _settles(since: float, policy: UpgradePolicy, now: float) -> bool:
    # A clock that was set back must not hold the gate for as long.
    return since <= now < since + policy.healthy_for


def _await_smoke(upgrade: Upgrade, healthy: StepRecord, smoke: Check | None) -> Upgrade:
    """The health of the step stays as it is: a check that is made again does not wait for it once more."""
    if smoke is not None and smoke.state == CheckState.FAILED:
        failed = replace(healthy, state=StepState.FAILED, message=smoke.message)
        return _with(upgrade, failed, f"{healthy.name} failed, and no other step begins: {smoke.message}")
    text = "healthy; osctl smoke runs"
    if smoke is not None and smoke.message:
        text = f"{text}: {smoke.message}"
    return _with(upgrade, replace(healthy, message=text), f"{healthy.name}: {text}")


def _finish(upgrade: Upgrade, policy: UpgradePolicy, facts: UpgradeFacts) -> Upgrade:
    if upgrade.phase != Phase.FINISH or not facts.at_rest:
        text = "all steps are done; the controller applies the rest"
        return replace(upgrade, phase=Phase.FINISH, message=text, checks=())
    checks = tuple(_skipped(check, policy.skip_checks) for check in facts.checks)
    upgrade = replace(upgrade, checks=checks)
    if failed := _names(checks, CheckState.FAILED):
        return replace(upgrade, message=f"all steps are done, and migrations of data failed: {failed}")
    if running := _names(checks, CheckState.RUNNING):
        return replace(upgrade, message=f"all steps are done; migrations of data run: {running}")
    text = f"{upgrade.target} runs"
    return replace(upgrade, phase=Phase.FINISHED, ended=facts.now, message=text, checks=())


def _names(checks: Iterable[Check], state: CheckState) -> str:
    return ", ".join(sorted({check.name for check in checks if check.state == state}))


def _with(upgrade: Upgrade, step: StepRecord, message: str) -> Upgrade:
    steps = tuple(step if one.name == step.name else one for one in upgrade.steps)
    return replace(upgrade, steps=steps, message=message)
