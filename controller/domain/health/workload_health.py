"""The health of one workload: from its counts and its pods to one word and the cause. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from controller.domain.api.conditions import timestamp
from controller.domain.health.pods import ORDER, CauseKind, PodCause, PodFacts
from controller.domain.health.quorum import Member, QuorumGroup, describe, has_quorum
from controller.domain.health.workloads import Workload
from controller.domain.shared.plurals import count

# Seconds in which a problem may pass before it is a failure.
SCHEDULING_GRACE = 30.0  # volumes are provisioned, nodes are added
TERMINATING_GRACE = 60.0  # beyond the pod's own grace period, which its deletion time includes
# A rollout removes pods of the earlier revision as soon as those of the newest serve.
REPLACED_WITHIN = 60.0
# A Deployment's own default (apps/v1 progressDeadlineSeconds), for kinds that have none; unless the settings
# say otherwise.
PROGRESS_DEADLINE = 600.0
# Releases whose servers need a majority, and their component (the charts' labels).
QUORUM_RELEASES = {
    "mariadb": frozenset({"server"}),  # Galera
    "rabbitmq": frozenset({"server"}),  # quorum queues
    "ovn": frozenset({"ovn-ovsdb-nb", "ovn-ovsdb-sb"}),  # OVSDB's Raft
}
# The default timeout of a release's hooks.
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
    """Further facts for the verdict on a workload.

    `claims` by name; `met` names fulfilled dependencies: the Jobs that have succeeded, as `Job/<name>`, and
    the DaemonSets with all pods ready; `now` in seconds since the epoch. `progress_deadline`: seconds after
    which pods without progress are a failure.
    """

    claims: Mapping[str, VolumeClaim]
    met: frozenset[str]
    now: float
    progress_deadline: float = PROGRESS_DEADLINE


@dataclass(frozen=True, slots=True)
class WorkloadHealth:
    """The verdict on one workload.

    `output` is the log of a container, not yet redacted, to append to `text`. `unseen`: its own controller
    has not observed the newest spec. `silent` is the pod and container that ended without a message: their
    log may contain the cause. `probed` is pod, container and creation time of the pod, if Events may contain
    the cause. `lacking` is kind and name of a workload with missing pods, if the existing ones do not show
    the cause. `awaited`: its output is being read. `bereft` begins a text about deleted pods, which still
    contains the cause.
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
    """The most informative pod that does not serve; `hard` if it will not recover by itself."""

    text: str
    output: str
    hard: bool
    silent: tuple[str, str] | None
    probed: tuple[str, str, float] | None


def judge_workload(workload: Workload, pods: Iterable[PodFacts], around: Surroundings) -> WorkloadHealth:
    """The verdict on a workload that counts: one that is not `off`, or only lacks a node."""
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
        text = f"{workload.kind} {workload.name} does not exist, but release {workload.release} contains it"
        return WorkloadHealth(Health.UNHEALTHY, 0, max(rollout.desired, 1), text)
    if workload.generation > workload.observed:
        text = f"{workload.kind} {workload.name}: Kubernetes has not observed the newest spec yet"
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
        text = f"{describe(group)}: {workload.release} has no majority and does not serve"
        return verdict(Health.UNHEALTHY, text, why=True)
    if workload.stuck:
        return verdict(Health.UNHEALTHY, workload.stuck, why=True)
    if worst and worst.hard:
        return verdict(Health.UNHEALTHY, why=True)
    absent = rollout.desired - rollout.current
    # A Deployment has its own deadline during a rollout, and reports itself why it cannot create pods.
    if absent > 0 and not worst and (workload.kind != "Deployment" or workload.rolled_out):
        text = (
            f"{absent} of {count(rollout.desired, 'pod')} of {workload.kind} {workload.name} "
            f"{'does' if rollout.desired == 1 else 'do'} not exist"
        )
        return replace(verdict(Health.PROGRESSING, text), lacking=(workload.kind, workload.name))
    if workload.paused and (pending or old):
        return verdict(Health.PROGRESSING, f"the rollout of Deployment {workload.name} is paused", why=True)
    if pending:
        text = f"{pending} of {count(desired, 'pod is', 'pods are')} not updated yet"
        return verdict(Health.PROGRESSING, text, why=True)
    if missing:
        if worst:
            return verdict(Health.PROGRESSING, why=True)
        text = f"{missing} of {count(rollout.desired, 'pod is', 'pods are')} not available yet"
        return verdict(Health.PROGRESSING, text)
    text = f"{count(old, 'pod')} of the previous revision still {'runs' if old == 1 else 'run'}"
    return verdict(Health.PROGRESSING, text)


def _with_lost(workload: Workload, pods: Iterable[PodFacts]) -> Workload:
    """The workload, with pods on lost nodes added to the desired ones.

    A DaemonSet's controller does not count them: a lost node has a taint that its pods do not tolerate
    (node.kubernetes.io/unreachable:NoSchedule), so they count as misscheduled, and the others seem complete
    (kubernetes: pkg/controller/daemon/daemon_controller.go).
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
    """The members of a workload with a majority; None for another workload, or a single member.

    All expected pods count, also unobserved ones.
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
    """During the first start, members join one by one, which is not a loss."""
    return around.now - workload.started < around.progress_deadline


def _ending_claim(pods: Iterable[PodFacts], around: Surroundings) -> str:
    """The message about a claim that was deleted under running pods; empty if there is none."""
    for pod in sorted(pods, key=lambda one: one.name):
        for name in pod.claims if not (pod.deleting or pod.succeeded) else ():
            claim = around.claims.get(name)
            if claim is not None and claim.deleting:
                return (
                    f"claim {name} is being deleted: the data are lost when pod {pod.name} ends. Save the "
                    "data first"
                )
    return ""


def _remarks(workload: Workload) -> str:
    """Notes although all pods serve."""
    rollout, remarks = workload.rollout, []
    if workload.homeless:
        remarks.append(
            f"no node matches it (the pod needs the label {workload.homeless}, and tolerates no other taints)"
        )
    outdated = max(rollout.desired - rollout.updated, 0)
    if rollout.on_delete and outdated:
        remarks.append(
            f"{outdated} of {count(rollout.desired, 'pod is', 'pods are')} of an earlier revision: "
            "with OnDelete, a pod is replaced only after you delete it"
        )
    elif rollout.partition and outdated:
        remarks.append(
            f"{outdated} of {count(rollout.desired, 'pod is', 'pods are')} kept at an earlier revision "
            f"by partition {rollout.partition}"
        )
    if rollout.misscheduled:
        remarks.append(f"{count(rollout.misscheduled, 'pod runs', 'pods run')} on nodes that no longer match")
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
        # With restartPolicy OnFailure, the Job's controller removes the pod when it gives up.
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
    return verdict(health, f"Job {job.name} has run since {timestamp(job.started)}")


def _relevant(workload: Workload, pods: list[PodFacts], now: float) -> list[PodFacts]:
    """The pods whose failure counts for the workload.

    During a rollout of a Deployment, only those of the newest revision: the others are being replaced, and
    the rollout may fix their problem. For a Job, the newest pod, and after a failure the newest one that
    reports it.
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
    # An evicted pod does not matter once another has replaced it.
    replaced = workload.rollout.current >= workload.rollout.desired
    return _living(pods) or ([] if replaced else pods)


def _age(pod: PodFacts) -> tuple[float, str]:
    return pod.created, pod.name


def _living(pods: list[PodFacts]) -> list[PodFacts]:
    """Without finally failed pods, which their controller replaces; nothing if no other pod has a problem."""
    living = [pod for pod in pods if pod.cause is None or pod.cause.kind != CauseKind.FAILED]
    return living if any(pod.cause for pod in living) else []


def _newest_revision(pods: list[PodFacts], updated: int, now: float) -> str:
    """The revision with `updated` pods of a Deployment; if several match, the one that began last.

    A recreated pod of an earlier revision is younger than all pods of the newest, and after a rollback the
    newest revision has old pods.
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
        # If these were the newest, the others would be gone.
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
    # The kubelet writes the result of a probe only into Events.
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
    """The claim that blocks the scheduling of the pod, followed by the scheduler's text; or empty."""
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
    """The pod's dependencies that are not known to be met."""
    unmet = [name for name in cause.waits_for if name not in around.met]
    if not cause.waits_for:
        return cause.text
    if not unmet:
        return f"{cause.text}; all that it waits for exists"
    shown = ", ".join(unmet[:5]) + (f" and {len(unmet) - 5} more" if len(unmet) > 5 else "")
    return f"{cause.text}: the pod waits for {shown}"
