"""How one workload fares: from its counts and its pods to one word and the cause a person needs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from controller.domain.api.conditions import timestamp
from controller.domain.health.pods import ORDER, CauseKind, PodCause, PodFacts
from controller.domain.health.quorum import Member, QuorumGroup, describe, has_quorum
from controller.domain.health.workloads import Workload
from controller.domain.shared.plurals import count

# What may pass by itself within so many seconds is not a failure yet.
SCHEDULING_GRACE = 30.0  # volumes are provisioned, nodes are added
TERMINATING_GRACE = 60.0  # beyond the pod's own grace period, which its deletion time includes
# A rollout takes pods of the earlier revision away as soon as those of the newest serve.
REPLACED_WITHIN = 60.0
# A Deployment's own default (apps/v1 progressDeadlineSeconds), for kinds that have none; unless the settings
# say otherwise.
PROGRESS_DEADLINE = 600.0
# Releases whose servers decide by majority, and the component that they are (the charts' labels).
QUORUM_RELEASES = {
    "mariadb": frozenset({"server"}),  # Galera
    "rabbitmq": frozenset({"server"}),  # quorum queues
    "ovn": frozenset({"ovn-ovsdb-nb", "ovn-ovsdb-sb"}),  # OVSDB's Raft
}
# As long as a release's hooks may take by default.
JOB_DEADLINE = 1800.0

_GRACE = {CauseKind.UNSCHEDULABLE: SCHEDULING_GRACE, CauseKind.TERMINATING: TERMINATING_GRACE}
_PROBED = frozenset({CauseKind.CRASH, CauseKind.STARTING, CauseKind.UNREADY})
_AT_ONCE = frozenset(
    {CauseKind.IMAGE, CauseKind.CONFIG, CauseKind.CRASH, CauseKind.FAILED, CauseKind.NODE, CauseKind.UNREADY}
)


class Health(StrEnum):
    """The health of a component in `status.health`; the later ones are worse."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    UNKNOWN = "Unknown"
    UNHEALTHY = "Unhealthy"


WORSE = {Health.READY: 0, Health.PROGRESSING: 1, Health.UNKNOWN: 2, Health.UNHEALTHY: 3}


@dataclass(frozen=True, slots=True)
class VolumeClaim:
    """A PersistentVolumeClaim. `phase` is Pending, Bound or Lost, as in Kubernetes. `deleting`: a person has
    deleted it, and Kubernetes keeps it for as long as a pod uses it."""

    name: str
    phase: str
    storage_class: str
    deleting: bool = False


@dataclass(frozen=True)
class Surroundings:
    """What else is known when a workload is judged.

    `claims` by name; `met` names what others wait for and need not: the Jobs that have succeeded, as
    `Job/<name>`, and the DaemonSets all of whose pods are ready; `now` in seconds since the epoch.
    `progress_deadline`: seconds after which pods that do not get on are a failure.
    """

    claims: Mapping[str, VolumeClaim]
    met: frozenset[str]
    now: float
    progress_deadline: float = PROGRESS_DEADLINE


@dataclass(frozen=True, slots=True)
class WorkloadHealth:
    """One workload judged. `output` is the log of a container, not yet redacted, to be put after `text`.

    `unseen`: its own controller has not taken up the newest spec. `silent` is the pod and container
    that died without a word: what they last logged may tell why. `probed` is pod, container and the moment
    that the pod was made, where Events about it may tell why it does not serve. `lacking` is kind and name
    of a workload some of whose pods are not there, while none that is there tells why. `awaited`: its output
    is being read. `bereft` begins what was said of pods that are gone, and still tells why.
    """

    health: Health
    ready: int
    desired: int
    text: str = ""
    output: str = ""
    unseen: bool = False
    silent: tuple[str, str] | None = None
    probed: tuple[str, str, float] | None = None
    lacking: tuple[str, str] | None = None
    awaited: bool = False
    bereft: str = ""


@dataclass(frozen=True, slots=True)
class _Worst:
    """The pod that tells most, of those that do not serve; `hard` if it will not get over it alone."""

    text: str
    output: str
    hard: bool
    silent: tuple[str, str] | None
    probed: tuple[str, str, float] | None


def judge_workload(workload: Workload, pods: Iterable[PodFacts], around: Surroundings) -> WorkloadHealth:
    """The verdict on a workload that counts: one that is not `off`, or is for want of a node alone."""
    known = list(pods)
    workload = _with_lost(workload, known)
    worst = _worst(_relevant(workload, known, around.now), around)
    rollout = workload.rollout
    if workload.kind == "Job":
        return _job(workload, worst, around)

    def verdict(health: Health, text: str = "", *, why: bool = False, unseen: bool = False) -> WorkloadHealth:
        tail = worst if why else None
        whole = "; ".join(part for part in (text, tail.text if tail else "") if part)
        output, silent, probed = (tail.output, tail.silent, tail.probed) if tail else ("", None, None)
        return WorkloadHealth(health, rollout.ready, rollout.desired, whole, output, unseen, silent, probed)

    if workload.missing:
        text = f"{workload.kind} {workload.name} does not exist, although release {workload.release} has it"
        return WorkloadHealth(Health.UNHEALTHY, 0, max(rollout.desired, 1), text)
    if workload.generation > workload.observed:
        text = f"{workload.kind} {workload.name}: its controller has not taken up the newest spec yet"
        return verdict(Health.PROGRESSING, text, unseen=True)
    desired = rollout.desired if rollout.on_delete else max(rollout.desired - rollout.partition, 0)
    pending = 0 if rollout.on_delete else max(desired - rollout.updated, 0)
    old = max(rollout.current - rollout.updated, 0) if workload.kind == "Deployment" else 0
    missing = max(rollout.desired - rollout.available, 0)
    if not (pending or old or missing):
        ending = _ending_claim(known, around)
        return verdict(Health.UNHEALTHY if ending else Health.READY, ending or _remarks(workload))
    group = quorum_group(workload, known)
    if group is not None and not has_quorum(group) and not _is_new(workload, around):
        text = f"{describe(group)}: {workload.release} cannot decide and does not serve"
        return verdict(Health.UNHEALTHY, text, why=True)
    if workload.stuck:
        return verdict(Health.UNHEALTHY, workload.stuck, why=True)
    if worst and worst.hard:
        return verdict(Health.UNHEALTHY, why=True)
    absent = rollout.desired - rollout.current
    # A Deployment has a deadline of its own while it rolls out, and says itself why it cannot make pods.
    if absent > 0 and not worst and (workload.kind != "Deployment" or workload.rolled_out):
        text = (
            f"{absent} of {count(rollout.desired, 'pod')} of {workload.kind} {workload.name} "
            f"{'does' if rollout.desired == 1 else 'do'} not exist"
        )
        return replace(verdict(Health.PROGRESSING, text), lacking=(workload.kind, workload.name))
    if workload.paused and (pending or old):
        return verdict(Health.PROGRESSING, f"the rollout of Deployment {workload.name} is paused", why=True)
    if pending:
        text = f"{pending} of {count(desired, 'pod is', 'pods are')} still to be updated"
        return verdict(Health.PROGRESSING, text, why=True)
    if missing:
        if worst:
            return verdict(Health.PROGRESSING, why=True)
        text = f"{missing} of {count(rollout.desired, 'pod is', 'pods are')} still to become available"
        return verdict(Health.PROGRESSING, text)
    text = f"{count(old, 'pod')} of the previous revision {'is' if old == 1 else 'are'} still to go"
    return verdict(Health.PROGRESSING, text)


def _with_lost(workload: Workload, pods: Iterable[PodFacts]) -> Workload:
    """The workload with pods on lost nodes counted among those that should be.

    A DaemonSet's controller does not count them: a lost node carries a taint that its pods do not
    tolerate (node.kubernetes.io/unreachable:NoSchedule), so that they seem to be misscheduled, and all
    others to be all (kubernetes: pkg/controller/daemon/daemon_controller.go).
    """
    rollout = workload.rollout
    if workload.kind != "DaemonSet" or not rollout.misscheduled:
        return workload
    lost = sum(1 for pod in pods if pod.cause is not None and pod.cause.kind == CauseKind.NODE)
    lost = min(lost, rollout.misscheduled)
    counted = replace(
        rollout,
        desired=rollout.desired + lost,
        updated=rollout.updated + lost,
        misscheduled=rollout.misscheduled - lost,
    )
    return replace(workload, rollout=counted)


def quorum_group(workload: Workload, pods: Iterable[PodFacts]) -> QuorumGroup | None:
    """The members of a workload that serve by majority; None for one that does not, or has one member.

    All pods that should exist count, also those that were not observed.
    """
    decides = workload.kind == "StatefulSet" and workload.release in QUORUM_RELEASES
    expected = workload.rollout.desired
    if not decides or workload.component not in QUORUM_RELEASES[workload.release] or expected < 2:
        return None
    members = tuple(
        Member(pod.name, "", pod.cause is None and not pod.deleting and not pod.succeeded) for pod in pods
    )
    return QuorumGroup(workload.name, expected, members)


def _is_new(workload: Workload, around: Surroundings) -> bool:
    """While it is founded, members come one by one: that is no loss."""
    return around.now - workload.started < around.progress_deadline


def _ending_claim(pods: Iterable[PodFacts], around: Surroundings) -> str:
    """The message about a claim that was deleted under running pods; empty if there is none."""
    for pod in sorted(pods, key=lambda one: one.name):
        for name in pod.claims if not (pod.deleting or pod.succeeded) else ():
            claim = around.claims.get(name)
            if claim is not None and claim.deleting:
                return (
                    f"claim {name} is being deleted: it goes, with its data, when pod {pod.name} ends. "
                    "Save them before that"
                )
    return ""


def _remarks(workload: Workload) -> str:
    """What deserves a word although all pods serve."""
    rollout, remarks = workload.rollout, []
    if workload.homeless:
        remarks.append(f"no node fits it (label {workload.homeless}, and no taint that it does not tolerate)")
    outdated = max(rollout.desired - rollout.updated, 0)
    if rollout.on_delete and outdated:
        remarks.append(
            f"{outdated} of {count(rollout.desired, 'pod is', 'pods are')} of an earlier revision: "
            "with OnDelete each is replaced when it is deleted"
        )
    elif rollout.partition and outdated:
        remarks.append(
            f"{outdated} of {count(rollout.desired, 'pod is', 'pods are')} kept at an earlier revision "
            f"by partition {rollout.partition}"
        )
    if rollout.misscheduled:
        remarks.append(
            f"{count(rollout.misscheduled, 'pod runs', 'pods run')} on nodes that they no longer fit"
        )
    return "; ".join(remarks)


def _job(job: Workload, worst: _Worst | None, around: Surroundings) -> WorkloadHealth:
    desired = job.rollout.desired
    if job.done:
        return WorkloadHealth(Health.READY, desired, desired)

    def verdict(health: Health, text: str) -> WorkloadHealth:
        whole = "; ".join(part for part in (text, worst.text if worst else "") if part)
        output, silent = (worst.output, worst.silent) if worst else ("", None)
        return WorkloadHealth(health, job.rollout.ready, desired, whole, output, silent=silent)

    if job.stuck:
        # With restartPolicy OnFailure the Job's controller takes the pod away when it gives up.
        bereft = "" if worst else f"pod {job.name}-"
        return replace(verdict(Health.UNHEALTHY, f"Job {job.name}: {job.stuck}"), bereft=bereft)
    if job.failed:
        return verdict(Health.UNHEALTHY, f"Job {job.name} failed and is tried again")
    if worst and worst.hard:
        return verdict(Health.UNHEALTHY, "")
    late = job.started > 0 and around.now - job.started > JOB_DEADLINE
    health = Health.UNHEALTHY if late else Health.PROGRESSING
    if not (worst or job.rollout.current or job.rollout.available):
        return replace(verdict(health, f"Job {job.name} has no pod"), lacking=("Job", job.name))
    return verdict(health, f"Job {job.name} runs since {timestamp(job.started)}")


def _relevant(workload: Workload, pods: list[PodFacts], now: float) -> list[PodFacts]:
    """The pods whose failure is the workload's.

    While a Deployment rolls out, those of the newest revision: the others are being replaced, and what
    they suffer from may be what the rollout cures. Of a Job, the newest pod, and after a failure the
    newest that reports one.
    """
    if not pods:
        return []
    if workload.kind == "Job":
        failed = [pod for pod in pods if pod.cause is not None and pod.cause.kind in _AT_ONCE]
        return [max(failed if workload.failed and failed else pods, key=_age)]
    if workload.kind != "Deployment":
        return _living(pods) or pods
    if workload.rollout.updated > 0:
        newest = _newest_revision(pods, workload.rollout.updated, now)
        pods = [pod for pod in pods if pod.revision == newest]
    # The remains of an evicted pod tell nothing when another has taken its place.
    replaced = workload.rollout.current >= workload.rollout.desired
    return _living(pods) or ([] if replaced else pods)


def _age(pod: PodFacts) -> tuple[float, str]:
    return pod.created, pod.name


def _living(pods: list[PodFacts]) -> list[PodFacts]:
    """Without those that failed for good, which their controller replaces; nothing if no other suffers."""
    living = [pod for pod in pods if pod.cause is None or pod.cause.kind != CauseKind.FAILED]
    return living if any(pod.cause for pod in living) else []


def _newest_revision(pods: list[PodFacts], updated: int, now: float) -> str:
    """The revision of which a Deployment has `updated` pods; if that fits several, the one begun last.

    A pod of an earlier revision that is made again is younger than all of the newest, and a rollback makes
    a revision the newest whose first pods are old.
    """
    by_revision: dict[str, list[PodFacts]] = {}
    for pod in pods:
        by_revision.setdefault(pod.revision, []).append(pod)
    counts = {
        revision: sum(
            1
            for pod in group
            if not pod.deleting and (pod.cause is None or pod.cause.kind != CauseKind.FAILED)
        )
        for revision, group in by_revision.items()
    }
    fitting = [revision for revision, count in counts.items() if count == updated] or list(by_revision)

    def begun(revision: str) -> tuple[bool, tuple[float, str]]:
        group = by_revision[revision]
        # Were these the newest, the others would be gone by now.
        old = all(pod.cause is None and now - pod.created > REPLACED_WITHIN for pod in group)
        return not old, min(_age(pod) for pod in group)

    return max(fitting, key=begun)


def _worst(pods: Sequence[PodFacts], around: Surroundings) -> _Worst | None:
    suffering = [(pod, pod.cause.at(around.now)) for pod in pods if pod.cause is not None]
    if not suffering:
        return None

    def severity(item: tuple[PodFacts, PodCause]) -> tuple[bool, int, str]:
        pod, cause = item
        return (not _is_hard(cause, around), ORDER[cause.kind], pod.name)

    # By name among equals, not by age: the message stays the same from pass to pass.
    pod, cause = min(suffering, key=severity)
    same = sum(1 for _, other in suffering if other.kind == cause.kind) - 1
    text = f"pod {pod.name} {_reported(pod, cause, around)}"
    if same:
        text += f"; {same} more like it"
    died = cause.kind in (CauseKind.CRASH, CauseKind.FAILED) and cause.container and not cause.output
    silent = (pod.name, cause.container) if died else None
    # The kubelet writes what a probe has said into Events, and nowhere else.
    asked = cause.kind in _PROBED and cause.container
    probed = (pod.name, cause.container, pod.created) if asked else None
    return _Worst(text, cause.output, _is_hard(cause, around), silent, probed)


def _is_hard(cause: PodCause, around: Surroundings) -> bool:
    if cause.kind in _AT_ONCE:
        return True
    grace = _GRACE.get(cause.kind, around.progress_deadline)
    return cause.since > 0 and around.now - cause.since > grace


def _reported(pod: PodFacts, cause: PodCause, around: Surroundings) -> str:
    tell: Callable[[], str] | None = {
        CauseKind.UNSCHEDULABLE: lambda: _unbound(pod, around),
        CauseKind.WAITING: lambda: _waiting(cause, around),
    }.get(cause.kind)
    return (tell() if tell else "") or cause.text


def _unbound(pod: PodFacts, around: Surroundings) -> str:
    """The claim that keeps the pod from a node, before the scheduler's words; empty if none does."""
    parts = []
    for name in pod.claims:
        claim = around.claims.get(name)
        if claim is None:
            parts.append(f"claim {name} does not exist")
        elif claim.phase != "Bound":
            kind = f'storage class "{claim.storage_class}"' if claim.storage_class else "no storage class"
            parts.append(f"claim {name} is {claim.phase} ({kind})")
    return f"waits for its volumes: {', '.join(parts)}; {pod.cause.text}" if parts and pod.cause else ""


def _waiting(cause: PodCause, around: Surroundings) -> str:
    """What the pod still waits for: of its dependencies, those not known to be met."""
    unmet = [name for name in cause.waits_for if name not in around.met]
    if not cause.waits_for:
        return cause.text
    if not unmet:
        return f"{cause.text}; what it waits for is there"
    shown = ", ".join(unmet[:5]) + (f" and {len(unmet) - 5} more" if len(unmet) > 5 else "")
    return f"{cause.text}: it waits for {shown}"
