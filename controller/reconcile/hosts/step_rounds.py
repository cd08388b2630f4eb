"""Which hosts have their next step taken in one pass, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from controller.domain.api.reasons import Reason
from controller.domain.hosts.host_facts import PASSIVE, HostFacts, NextStep, Step
from controller.domain.hosts.next_step import decide_host
from controller.domain.hosts.nodes import parse_node
from controller.domain.shared import backoff
from controller.domain.shared.cloud_facts import CloudView
from controller.errors import (
    ApiUnavailable,
    CloudRefused,
    CloudUnavailable,
    Conflict,
    KubeError,
    ObjectMissing,
)
from controller.ports.kubernetes import NODE, Kube
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts.compute_service_steps import HostSteps, after_step
from controller.reconcile.hosts.observe import NodesSnapshot
from controller.reconcile.hosts.retry_pauses import RetryPauses
from controller.reconcile.shared.cloud_access import STEP_GRACE
from controller.reconcile.shared.fair_order import FairOrder

# In one pass, so that it stays short; the next goes on where it ended.
STEPS_PER_PASS = 20
# Servers wait for these, and they succeed or fail at once.
URGENT = (Step.DISABLE, Step.ENABLE, Step.EVACUATE)

Decided = tuple[HostFacts, NextStep]


@dataclass(frozen=True)
class StepResults:
    """`states`: by name of the host, what it is after its step. `changed`: whether anything was."""

    states: dict[str, Decided] = field(default_factory=dict)
    tried: int = 0
    changed: bool = False


class HostStepRounds:
    """Takes the next steps of hosts, at most STEPS_PER_PASS in one pass, urgent ones first.

    Hosts that were not reached come first in the next pass; a step that failed is repeated after a pause and
    delays no other host. Not thread-safe.
    """

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._steps = HostSteps(kube, clock, namespace)
        self._urgent, self._others = FairOrder(), FairOrder()
        self._pauses = RetryPauses(clock, backoff.SHORT_PAUSES)
        self._last: dict[tuple[str, Step], NextStep] = {}

    def take(
        self,
        decided: Sequence[Decided],
        snapshot: NodesSnapshot,
        cloud: Cloud,
        *,
        view: CloudView,
        breaker_open: str,
    ) -> StepResults:
        """Takes steps while there is time, and one in any case. Raises KubeError."""
        due = {(host.name, one.step): (host, one) for host, one in decided if one.step not in PASSIVE}
        self._pauses.keep(due.keys())
        self._last = {key: last for key, last in self._last.items() if key in due}
        # What came of the last try stands while the next is waited for.
        results = {key[0]: (due[key][0], last) for key, last in self._last.items()}
        ready = [key for key in due if self._pauses.over(key)]
        tried, changed = 0, False
        for order, urgent in ((self._urgent, True), (self._others, False)):
            chosen = [key for key in ready if (key[1] in URGENT) == urgent]
            for key in order.of(chosen, lambda one: one[0]):
                if (cloud.late and tried) or tried >= STEPS_PER_PASS:
                    break
                order.reached(key[0])
                tried += 1
                patient = cloud if tried > 1 else cloud.longer(STEP_GRACE)
                result, outcome = self._take(
                    *due[key], snapshot, patient, view=view, breaker_open=breaker_open
                )
                results[key[0]] = result
                changed = changed or outcome is True
                self._note(key, result[1], outcome)
        return StepResults(results, tried, changed)

    def _note(self, key: tuple[str, Step], result: NextStep, outcome: bool | None) -> None:
        if outcome is False:
            self._pauses.failed(key)
            self._last[key] = result
        else:
            self._pauses.succeeded(key)
            self._last.pop(key, None)

    def _take(
        self,
        host: HostFacts,
        decision: NextStep,
        snapshot: NodesSnapshot,
        cloud: Cloud,
        *,
        view: CloudView,
        breaker_open: str,
    ) -> tuple[Decided, bool | None]:
        """Takes the step, if it is still to be taken; gives the host after it, and what is to be reported.

        Both sides are read again right before: a pass is seconds old, and a person may have been at work.
        Besides, whether it changed something: None where it was not to be taken any more.
        """
        fresh = self._kube.get(NODE, host.name)
        node = parse_node(fresh, self._namespace) if fresh is not None else None
        seen = host
        try:
            service = cloud.compute_service(host.host) if host.was_compute else None
            compute = node.as_compute(service) if node is not None and node.is_compute else None
            seen = replace(host, node=compute, service=service)
            again = decide_host(seen, snapshot.policy, breaker_open, self._clock.now())
            if again.step != decision.step:
                shown = replace(again, step=Step.WAIT) if again.step != Step.NOTHING else again
                return (seen, shown), None
            result = self._steps.take(seen, again, node, snapshot, cloud=cloud, view=view)
            changed = result.step in (again.step, Step.FORGET)
            return (replace(seen, service=after_step(service, again)) if changed else seen, result), changed
        except CloudUnavailable as error:
            return (seen, NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, str(error))), False
        except CloudRefused as error:
            reason = Reason.CLEANUP_AWAITED if decision.step == Step.UNFORCE else Reason.CLOUD_UNKNOWN
            return (seen, NextStep(Step.WAIT, reason, str(error))), False
        except ApiUnavailable:
            raise
        except (Conflict, ObjectMissing) as error:
            return (
                seen,
                NextStep(Step.WAIT, decision.reason, f"the object changed in the meantime: {error}"),
            ), False
        except KubeError as error:
            # A quota or an admission refuses what this host needs: the others are none the worse for it.
            text = f"{decision.message}; the API server refused this: {error}"
            return (seen, replace(decision, step=Step.BLOCKED, message=text)), False
