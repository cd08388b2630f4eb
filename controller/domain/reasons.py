"""Reasons: the single words that conditions and events carry. docs/conditions.md explains each."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why something is as it is. The value is what a person reads in `kubectl get`."""

    INITIALIZING = "Initializing"

    # the spec
    SPEC_ACCEPTED = "SpecAccepted"
    SPEC_INVALID = "SpecInvalid"
    ANOTHER_DEPLOYMENT_MANAGED = "AnotherDeploymentManaged"

    # the region as a whole
    READY = "RegionReady"
    APPLYING = "Applying"
    CONTAINER_SILENT = "ContainerSilent"
    RELEASES_PENDING = "ReleasesPending"
    RELEASES_FAILING = "ReleasesFailing"
    RELEASES_DEPLOYED = "ReleasesDeployed"
    DELETING = "Deleting"
    NOT_DELETING = "NotDeleting"
    PAUSED = "PausedBySpec"
    NOT_PAUSED = "NotPaused"

    # mode Plan
    NOT_PLANNED = "NotPlanned"
    PLANNING = "Planning"
    PLAN_EMPTY = "PlanEmpty"
    PLAN_PENDING = "PlanPending"
    PLAN_DIFFERS = "PlanDiffers"
    PLAN_APPROVED = "PlanApproved"
    PLAN_FAILED = "PlanFailed"
    DAEMON_SETS_RENAMED = "DaemonSetsRenamed"

    # workloads, nodes and secrets
    WORKLOADS_HEALTHY = "WorkloadsHealthy"
    WORKLOADS_PROGRESSING = "WorkloadsProgressing"
    WORKLOADS_FAILING = "WorkloadsFailing"
    NODES_READY = "NodesReady"
    NODES_NOT_READY = "NodesNotReady"
    NODES_MISSING = "NodesMissing"
    HOSTS_FAILING = "HostsFailing"
    SECRETS_READY = "SecretsReady"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a word, not a secret

    # one release
    INSTALLING = "Installing"
    UPGRADING = "Upgrading"
    UNINSTALLING = "Uninstalling"
    IN_SYNC = "InSync"
    SPEC_CHANGED = "SpecChanged"
    NOT_INSTALLED = "NotInstalled"
    NO_LONGER_WANTED = "NoLongerWanted"
    GONE = "Gone"
    SUSPENDED = "Suspended"
    WAITING_FOR_DEPENDENCY = "WaitingForDependency"
    WAITING_FOR_DEPENDENTS = "WaitingForDependents"
    BACKING_OFF = "BackingOff"
    RETRYING = "Retrying"
    DRIFTED = "Drifted"
    DRIFT_RECURS = "DriftRecurs"
    CORRECTING = "Correcting"
    RECORD_MISSING = "RecordMissing"
    RECORD_UNREADABLE = "RecordUnreadable"
    UNLOCKING = "Unlocking"
    UNLOCKED = "Unlocked"
    BUSY_ELSEWHERE = "BusyElsewhere"
    FOREIGN_CHANGE = "ForeignChange"
    FORCED = "Forced"
    ROLLING_BACK = "RollingBack"
    ROLLBACK_REQUESTED = "RollbackRequested"
    ROLLBACK_IMPOSSIBLE = "RollbackImpossible"
    ROLLED_BACK = "RolledBack"
    WAITING_FOR_SLOT = "WaitingForSlot"
    INSTALL_SUCCEEDED = "InstallSucceeded"
    UPGRADE_SUCCEEDED = "UpgradeSucceeded"
    UNINSTALL_SUCCEEDED = "UninstallSucceeded"
    ROLLBACK_SUCCEEDED = "RollbackSucceeded"
    CORRECT_SUCCEEDED = "CorrectSucceeded"
    INSTALL_FAILED = "InstallFailed"
    UPGRADE_FAILED = "UpgradeFailed"
    UNINSTALL_FAILED = "UninstallFailed"
    ROLLBACK_FAILED = "RollbackFailed"
    CORRECT_FAILED = "CorrectFailed"
    CHART_NOT_FOUND = "ChartNotFound"
    CHART_INVALID = "ChartInvalid"
    CHART_PENDING = "PullingChart"
    CHART_UNTRUSTED = "ChartDigestMismatch"
    REPOSITORY_DENIED = "RepositoryDenied"
    REPOSITORY_UNAVAILABLE = "RepositoryUnavailable"
    REPOSITORY_UNTRUSTED = "RepositoryNotTrusted"
    RELEASE_LARGE = "ReleaseLarge"
    RELEASE_TOO_LARGE = "ReleaseTooLarge"
    RELEASE_NAME_TAKEN = "ReleaseNameTaken"

    # one compute node
    NODE_IN_SERVICE = "InService"
    NODE_CORDONED = "NodeCordoned"
    NODE_NOT_READY = "NodeNotReady"
    NODE_FLAPPING = "NodeFlapping"
    NODE_REMOVED = "NodeRemoved"
    NODE_REPLACED = "NodeReplaced"
    IN_MAINTENANCE = "InMaintenance"
    COMPUTE_AWAITED = "ComputeAwaited"
    COMPUTE_MISSING = "ComputeMissing"
    COMPUTE_DOWN = "ComputeDown"
    COMPUTE_STILL_REPORTS = "ComputeStillReports"
    CELL_MAPPING_AWAITED = "CellMappingAwaited"
    AGENTS_DOWN = "AgentsDown"
    PODS_NOT_READY = "PodsNotReady"
    DISABLED_BY_OTHERS = "DisabledByOthers"
    SERVERS_LEFT = "ServersLeft"
    FENCING_AWAITED = "FencingAwaited"
    EVACUATING = "Evacuating"
    CLEANUP_AWAITED = "CleanupAwaited"
    AUTOMATION_BRAKED = "AutomationBraked"
    CLOUD_UNKNOWN = "CloudUnknown"
    CLOUD_REFUSED = "CloudRefused"

    # one maintenance
    PLANNED = "Planned"
    WAITING_FOR_TURN = "WaitingForTurn"
    MOVING_SERVERS = "MovingServers"
    NODE_EMPTY = "NodeEmpty"
    SERVERS_BLOCKED = "ServersBlocked"
    DEADLINE_PASSED = "DeadlinePassed"
    MAINTENANCE_ENDED = "MaintenanceEnded"


def known_reason(word: str, otherwise: Reason) -> Reason:
    """The reason that a word from a status stands for; `otherwise` if another version wrote it."""
    return Reason(word) if word in Reason._value2member_map_ else otherwise
