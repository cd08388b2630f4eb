"""Reasons: the single words that conditions and events carry. docs/conditions.md explains each."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, Self

EventType = Literal["Normal", "Warning"]
NORMAL: Final = "Normal"
WARNING: Final = "Warning"


class Reason(StrEnum):
    """The reason of a state.

    The value is the text in `kubectl get`. `event` is the type of its Events: Normal for the steps of an
    install, an upgrade, a removal or a maintenance without faults, Warning if a person should look.
    """

    event: EventType

    def __new__(cls, word: str, event: EventType | None = None) -> Self:
        """A reason as declared below; called with a word alone, the class returns the existing one."""
        if event is None:
            raise TypeError(f"{word}: are its Events Normal or Warning?")
        made = str.__new__(cls, word)
        made._value_ = word
        made.event = event
        return made

    INITIALIZING = "Initializing", NORMAL

    # the spec
    SPEC_ACCEPTED = "SpecAccepted", NORMAL
    SPEC_INVALID = "SpecInvalid", WARNING
    VERSION_STEP_REFUSED = "VersionStepRefused", WARNING
    BUNDLE_NAME_TAKEN = "BundleNameTaken", WARNING
    ANOTHER_DEPLOYMENT_MANAGED = "AnotherDeploymentManaged", WARNING
    NEWER_CONTROLLER = "NewerController", WARNING
    CONTROLLER_SKIPS_VERSION = "ControllerSkipsVersion", WARNING

    # the region as a whole
    READY = "RegionReady", NORMAL
    APPLYING = "Applying", NORMAL
    CONTAINER_SILENT = "ContainerSilent", WARNING
    RELEASES_PENDING = "ReleasesPending", NORMAL
    RELEASES_FAILING = "ReleasesFailing", WARNING
    RELEASES_DEPLOYED = "ReleasesDeployed", NORMAL
    DELETING = "Deleting", NORMAL
    NOT_DELETING = "NotDeleting", NORMAL
    PAUSED = "PausedBySpec", NORMAL
    HELD_BACK = "HeldBackByPause", NORMAL
    NOT_PAUSED = "NotPaused", NORMAL

    # an upgrade to another version of OpenStack
    REGION_UPGRADING = "RegionUpgrading", NORMAL
    REGION_UPGRADE_STARTED = "RegionUpgradeStarted", NORMAL
    REGION_UPGRADE_HELD = "RegionUpgradeHeld", NORMAL
    REGION_UPGRADE_FINISHED = "RegionUpgradeFinished", NORMAL
    REGION_UPGRADE_ABORTED = "RegionUpgradeAborted", WARNING
    UPGRADE_CHECKS_FAILED = "UpgradeChecksFailed", WARNING
    UPGRADE_STEP_BEGUN = "UpgradeStepBegun", NORMAL
    UPGRADE_STEP_DONE = "UpgradeStepDone", NORMAL
    UPGRADE_STEP_FAILED = "UpgradeStepFailed", WARNING

    # backups
    BACKUP_SUCCEEDED = "BackupSucceeded", NORMAL
    BACKUP_AWAITED = "BackupAwaited", NORMAL
    BACKUP_FAILED = "BackupFailed", WARNING
    BACKUP_OVERDUE = "BackupOverdue", WARNING
    BACKUP_IMPOSSIBLE = "BackupImpossible", WARNING
    BACKUP_NOT_RESTORABLE = "BackupNotRestorable", WARNING
    BACKUPS_KEPT = "BackupsKept", NORMAL
    PASSPHRASE_GENERATED = "PassphraseGenerated", WARNING

    # a restore from a backup
    RESTORING = "Restoring", NORMAL
    RESTORED = "Restored", NORMAL
    RESTORE_REFUSED = "RestoreRefused", WARNING

    # mode Plan
    NOT_PLANNED = "NotPlanned", NORMAL
    PLANNING = "Planning", NORMAL
    PLAN_EMPTY = "PlanEmpty", NORMAL
    PLAN_PENDING = "PlanPending", NORMAL
    PLAN_DIFFERS = "PlanDiffers", WARNING
    PLAN_APPROVED = "PlanApproved", NORMAL
    PLAN_FAILED = "PlanFailed", WARNING
    DAEMON_SETS_RENAMED = "DaemonSetsRenamed", WARNING
    SERVICE_KEPT = "ServiceKept", WARNING

    # workloads, nodes and secrets
    WORKLOADS_HEALTHY = "WorkloadsHealthy", NORMAL
    WORKLOADS_PROGRESSING = "WorkloadsProgressing", NORMAL
    WORKLOADS_FAILING = "WorkloadsFailing", WARNING
    NODES_READY = "NodesReady", NORMAL
    NODES_NOT_READY = "NodesNotReady", WARNING
    NODES_MISSING = "NodesMissing", WARNING
    HOSTS_FAILING = "HostsFailing", WARNING
    HOSTS_AWAITED = "HostsAwaited", NORMAL
    SECRETS_READY = "SecretsReady", NORMAL
    SECRET_MISSING = "SecretMissing", WARNING
    CREDENTIALS_LOST = "CredentialsLost", WARNING
    CREDENTIALS_RESTORED = "CredentialsRestored", WARNING
    CREDENTIALS_EDITED = "CredentialsEdited", WARNING
    ACCOUNTS_LEFT = "AccountsLeft", NORMAL
    CREDENTIAL_DOUBTFUL = "CredentialDoubtful", WARNING
    CERTIFICATES_RENEWED = "CertificatesRenewed", NORMAL
    CERTIFICATE_EXPIRES = "CertificateExpires", WARNING
    CREDENTIALS_ROTATING = "CredentialsRotating", NORMAL
    CREDENTIALS_ROTATED = "CredentialsRotated", NORMAL
    ROTATION_REFUSED = "RotationRefused", WARNING
    AUTHORITY_CHANGES = "AuthorityChanges", NORMAL
    AUTHORITY_LOST = "AuthorityLost", WARNING

    # MachineSets
    RESOURCE_SYNCHRONIZED = "ResourceSynchronized", NORMAL
    CONVERSION_WARNING = "ConversionWarning", WARNING
    CONVERSION_FAILED = "ConversionFailed", WARNING
    CLUSTER_MISSING = "ClusterMissing", WARNING
    TEMPLATE_MISSING = "TemplateMissing", WARNING
    MIRROR_TAKEN = "MirrorTaken", WARNING
    EDIT_OVERWRITTEN = "EditOverwritten", WARNING
    MIRROR_PAUSED = "MirrorPaused", WARNING
    MIRROR_REFUSED = "MirrorRefused", WARNING
    AUTHORITY_SWITCHED = "AuthoritySwitched", NORMAL

    # one release
    INSTALLING = "Installing", NORMAL
    UPGRADING = "Upgrading", NORMAL
    UNINSTALLING = "Uninstalling", NORMAL
    IN_SYNC = "InSync", NORMAL
    SPEC_CHANGED = "SpecChanged", NORMAL
    NOT_INSTALLED = "NotInstalled", NORMAL
    NO_LONGER_WANTED = "NoLongerWanted", NORMAL
    GONE = "Gone", NORMAL
    SUSPENDED = "Suspended", NORMAL
    WAITING_FOR_DEPENDENCY = "WaitingForDependency", NORMAL
    WAITING_FOR_DEPENDENTS = "WaitingForDependents", NORMAL
    BACKING_OFF = "BackingOff", WARNING
    RIGHT_MISSING = "RightMissing", WARNING
    RETRYING = "Retrying", WARNING
    DRIFTED = "Drifted", WARNING
    DRIFT_RECURS = "DriftRecurs", WARNING
    CORRECTING = "Correcting", NORMAL
    RECORD_MISSING = "RecordMissing", WARNING
    RECORD_UNREADABLE = "RecordUnreadable", WARNING
    UNLOCKING = "Unlocking", WARNING
    UNLOCKED = "Unlocked", WARNING
    BUSY_ELSEWHERE = "BusyElsewhere", NORMAL
    FOREIGN_CHANGE = "ForeignChange", WARNING
    FORCED = "Forced", NORMAL
    ROLLING_BACK = "RollingBack", NORMAL
    ROLLBACK_REQUESTED = "RollbackRequested", NORMAL
    ROLLBACK_IMPOSSIBLE = "RollbackImpossible", WARNING
    ROLLED_BACK = "RolledBack", NORMAL
    WAITING_FOR_SLOT = "WaitingForSlot", NORMAL
    INSTALL_SUCCEEDED = "InstallSucceeded", NORMAL
    UPGRADE_SUCCEEDED = "UpgradeSucceeded", NORMAL
    UPGRADE_JOBS_SUCCEEDED = "UpgradeJobsSucceeded", NORMAL
    UNINSTALL_SUCCEEDED = "UninstallSucceeded", NORMAL
    ROLLBACK_SUCCEEDED = "RollbackSucceeded", NORMAL
    CORRECT_SUCCEEDED = "CorrectSucceeded", NORMAL
    INSTALL_FAILED = "InstallFailed", WARNING
    UPGRADE_FAILED = "UpgradeFailed", WARNING
    UNINSTALL_FAILED = "UninstallFailed", WARNING
    ROLLBACK_FAILED = "RollbackFailed", WARNING
    CORRECT_FAILED = "CorrectFailed", WARNING
    CHART_NOT_FOUND = "ChartNotFound", WARNING
    CHART_INVALID = "ChartInvalid", WARNING
    CHART_PENDING = "PullingChart", NORMAL
    CHART_UNTRUSTED = "ChartDigestMismatch", WARNING
    REPOSITORY_DENIED = "RepositoryDenied", WARNING
    REPOSITORY_UNAVAILABLE = "RepositoryUnavailable", WARNING
    REPOSITORY_UNTRUSTED = "RepositoryNotTrusted", WARNING
    RELEASE_LARGE = "ReleaseLarge", WARNING
    RELEASE_TOO_LARGE = "ReleaseTooLarge", WARNING
    RELEASE_NAME_TAKEN = "ReleaseNameTaken", WARNING
    OBJECT_NAME_TAKEN = "ObjectNameTaken", WARNING

    # one compute node
    NODE_IN_SERVICE = "InService", NORMAL
    NODE_CORDONED = "NodeCordoned", NORMAL
    NODE_NOT_READY = "NodeNotReady", WARNING
    NODE_FLAPPING = "NodeFlapping", WARNING
    NODE_REMOVED = "NodeRemoved", NORMAL
    NODE_REPLACED = "NodeReplaced", NORMAL
    IN_MAINTENANCE = "InMaintenance", NORMAL
    COMPUTE_AWAITED = "ComputeAwaited", NORMAL
    COMPUTE_MISSING = "ComputeMissing", WARNING
    COMPUTE_DOWN = "ComputeDown", NORMAL
    HOST_AMBIGUOUS = "HostAmbiguous", WARNING
    COMPUTE_STILL_REPORTS = "ComputeStillReports", NORMAL
    CELL_MAPPING_AWAITED = "CellMappingAwaited", NORMAL
    CELL_NOT_MAPPED = "CellNotMapped", WARNING
    AGENTS_DOWN = "AgentsDown", NORMAL
    PODS_NOT_READY = "PodsNotReady", NORMAL
    DISABLED_BY_OTHERS = "DisabledByOthers", NORMAL
    SERVERS_LEFT = "ServersLeft", WARNING
    FENCING_AWAITED = "FencingAwaited", WARNING
    EVACUATING = "Evacuating", WARNING
    CLEANUP_AWAITED = "CleanupAwaited", NORMAL
    TOO_MANY_UNHEALTHY = "TooManyUnhealthy", WARNING
    CLOUD_UNKNOWN = "CloudUnknown", NORMAL
    CLOUD_REFUSED = "CloudRefused", WARNING
    API_SERVER_REFUSED = "ApiServerRefused", WARNING

    # one maintenance
    PLANNED = "Planned", NORMAL
    QUEUED = "Queued", NORMAL
    MOVING_SERVERS = "MovingServers", NORMAL
    NODE_EMPTY = "NodeEmpty", NORMAL
    SERVERS_BLOCKED = "ServersBlocked", WARNING
    MOVES_UNCONFIRMED = "MovesUnconfirmed", WARNING
    DEADLINE_PASSED = "DeadlinePassed", WARNING
    STATUS_UNREADABLE = "StatusUnreadable", WARNING
    MAINTENANCE_ENDED = "MaintenanceEnded", NORMAL

    # one server
    SERVER_READY = "ServerReady", NORMAL
    STEP_AWAITED = "StepAwaited", NORMAL
    NOT_REQUIRED = "NotRequired", NORMAL
    CREATING = "Creating", NORMAL
    AVAILABLE = "Available", NORMAL
    ANSWER_AWAITED = "AnswerAwaited", NORMAL
    CREDENTIALS_ACCEPTED = "CredentialsAccepted", NORMAL
    CREDENTIALS_MISSING = "CredentialsMissing", WARNING
    CREDENTIALS_UNUSABLE = "CredentialsUnusable", WARNING
    CREDENTIALS_DENIED = "CredentialsDenied", WARNING
    CREDENTIALS_OF_ANOTHER_PROJECT = "CredentialsOfAnotherProject", WARNING
    CLOUD_NOT_FOUND = "CloudNotFound", WARNING
    CLOUD_BUSY = "CloudBusy", NORMAL
    DEPENDENCIES_RESOLVED = "DependenciesResolved", NORMAL
    DEPENDENCY_FAILED = "DependencyFailed", WARNING
    USER_DATA_MISSING = "UserDataMissing", WARNING
    VOLUME_ERROR = "VolumeError", WARNING
    VOLUME_KEPT = "VolumeKept", WARNING
    QUOTA_EXCEEDED = "QuotaExceeded", WARNING
    INSTANCE_BUILDING = "InstanceBuilding", NORMAL
    INSTANCE_ACTIVE = "InstanceActive", NORMAL
    INSTANCE_NOT_ACTIVE = "InstanceNotActive", WARNING
    INSTANCE_ERROR = "InstanceError", WARNING
    INSTANCE_DELETED = "InstanceDeleted", WARNING
    REPLACING = "Replacing", NORMAL
    DISABLED = "Disabled", NORMAL


def known_reason(word: str, otherwise: Reason) -> Reason:
    """The reason for a word from a status; `otherwise` if another version wrote it."""
    return Reason(word) if word in Reason._value2member_map_ else otherwise
