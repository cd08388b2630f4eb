"""Asks the operator's fencing service whether nodes are off, a few in each pass."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import replace

from controller.domain.api.names import FENCED_ANNOTATION
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import SecretKey
from controller.domain.hosts.fencing_confirmation import Confirmation
from controller.domain.hosts.host_facts import HostFacts, NextStep, Step
from controller.domain.hosts.node_policy import NodePolicy
from controller.domain.hosts.nodes import machine_facts, parse_node
from controller.domain.hosts.same_machine import SameMachine
from controller.domain.values.secret_refs import reserved
from controller.errors import CloudUnavailable
from controller.ports.fencing import Fencing
from controller.ports.kubernetes import NODE, SECRET, Kube
from controller.ports.system import Clock
from controller.reconcile.hosts.node_annotations import NodeAnnotations

# In one pass so many are asked for, and no more after so many seconds: other hosts wait meanwhile.
ASKED, WITHIN = 3, 5.0


class HostFencing:
    """Asks the fencing service of the spec, and notes its confirmation on the Node.

    Not thread-safe. `namespace`: where the Secrets for the service are.
    """

    def __init__(
        self, *, kube: Kube, clock: Clock, fencing: Fencing, notes: NodeAnnotations, namespace: str
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._fencing = fencing
        self._notes = notes
        self._namespace = namespace
        self._asked: dict[str, float] = {}

    def ask(
        self,
        awaiting: Sequence[tuple[HostFacts, NextStep]],
        policy: NodePolicy,
        same: Callable[[str], SameMachine],
        *,
        hurried: bool = False,
    ) -> dict[str, NextStep]:
        """What is to be reported of these hosts; who was asked for longest ago comes first.

        `same`: finds other Nodes of the machine of one. `hurried`: the pass has taken its time already; only
        one is asked for. Raises KubeError.
        """
        # It would power the machine off.
        if not policy.fencing or policy.paused:
            return {}
        began = self._clock.monotonic()
        self._asked = {host.name: self._asked.get(host.name, 0.0) for host, _ in awaiting}
        results: dict[str, NextStep] = {}
        for host, decision in sorted(awaiting, key=lambda one: self._asked[one[0].name])[
            : 1 if hurried else ASKED
        ]:
            if self._clock.monotonic() - began > WITHIN:
                break
            self._asked[host.name] = self._clock.monotonic()
            try:
                results[host.name] = self._ask(host, decision, policy, same(host.name))
            except CloudUnavailable as error:
                results[host.name] = replace(decision, message=str(error))
        return results

    def _ask(self, host: HostFacts, decision: NextStep, policy: NodePolicy, same: SameMachine) -> NextStep:
        listed = self._kube.list(NODE)
        live = next((one for one in listed if one["metadata"]["name"] == host.name), None)
        node = parse_node(live, self._namespace) if live is not None else None
        if live is None or node is None or node.is_ready or not node.since:
            return decision
        others = same.among([machine_facts(one, self._namespace) for one in listed])
        ready = next((one.name for one in others if one.is_ready), "")
        if ready:
            text = (
                f"the fencing service is not called, because the machine is now the node {ready}, which "
                "is ready"
            )
            return replace(decision, message=text)
        # As it was before asking: what happens to the node after that is not confirmed.
        noted = {FENCED_ANNOTATION: Confirmation(node.machine, report=node.report).written()}
        confirmed = self._fencing.confirm(
            policy.fencing,
            node=node.name,
            uid=node.uid,
            boot=node.boot,
            since=node.since,
            token=self._secret(policy.fencing_token).decode(errors="replace").strip(),
            authority=self._secret(policy.fencing_authority),
        )
        if confirmed and self._notes.write(live, noted):
            return NextStep(Step.WAIT, Reason.EVACUATING, "the fencing service says that the node is off")
        return replace(decision, message="the fencing service was called, and has not confirmed yet")

    def _secret(self, desired: SecretKey | None) -> bytes:
        """Raises CloudUnavailable where it is not there; empty where none is asked for."""
        if desired is None:
            return b""
        secret = self._kube.get(SECRET, desired.name, self._namespace) or {}
        what = reserved(desired.name, str(secret.get("type") or ""))
        if what:
            text = f'the fencing service is not called: the Secret "{desired.name}" is {what}'
            raise CloudUnavailable(text)
        try:
            return base64.b64decode((secret.get("data") or {})[desired.key], validate=True)
        except (KeyError, binascii.Error, ValueError):
            text = (
                f'the fencing service is not called: the Secret "{desired.name}" has no key "{desired.key}"'
            )
            raise CloudUnavailable(text) from None
