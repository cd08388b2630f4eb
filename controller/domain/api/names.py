"""Names that several parts of the product use: API group, labels, annotations, field managers."""

from __future__ import annotations

GROUP = "osctl.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

CONTAINERS = ("core", "helmbundle", "health", "secrets", "node")
# Deployed only by choice; no region waits for it.
OPTIONAL_CONTAINERS = ("servers",)

# Helm marks objects of a release (helm.sh/helm/v4/pkg/action/validate.go), but not objects of hooks, which
# have this annotation. Charts name the release of a hook by a label: our charts' own one, and that of
# OpenStack-Helm.
RELEASE_NAME = "meta.helm.sh/release-name"
RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
HOOK = "helm.sh/hook"
RELEASE_LABELS = ("app.kubernetes.io/instance", "release_group")

# Labels on our objects.
DEPLOYMENT_LABEL = f"{GROUP}/deployment"  # name of the osdpl
SERVICE_LABEL = f"{GROUP}/service"  # OpenStack service type: identity, compute, database …
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGED_BY_US = "openstack-controller"

EXCHANGE_LABEL = f"{GROUP}/exchange"  # the partner of the exchange: ceph
REGION_LABEL = f"{GROUP}/region-namespace"  # the region of an object in a shared namespace

# On a Secret that its namespace offers to another one, or requests from another one; each names the other
# side.
SHARED_LABEL = f"{GROUP}/shared"
OFFER, REQUEST = "offer", "request"
OFFERED_TO_ANNOTATION = f"{GROUP}/offered-to"
REQUESTED_FROM_ANNOTATION = f"{GROUP}/requested-from"
# The source of a copy.
COPIED_FROM_ANNOTATION = f"{GROUP}/copied-from"
NOT_COPIED_ANNOTATION = f"{GROUP}/not-copied"
# The copies outside of the region's namespace.
COPIES_CONFIGMAP = "osctl-copies"

# Labels on Helm's own release records (Secrets of type helm.sh/release.v1), set through Helm's
# --labels: a revision carries its own origin, so that no other record is needed.
BUNDLE_LABEL = f"{GROUP}/bundle"  # name of the HelmBundle
DIGEST_LABEL = f"{GROUP}/digest"  # digest of chart and resolved values, first 40 hex digits
# The expected revision number. `helm upgrade` by hand copies all labels of the previous revision, so this
# number does not match: this identifies a foreign revision.
REVISION_LABEL = f"{GROUP}/revision"
CHART_VERSION_LABEL = f"{GROUP}/chart-version"
# Digest of the revision's spec: values, and the chart's name, version and place. Unlike the digest above, it
# does not need the chart.
SPEC_DIGEST_LABEL = f"{GROUP}/spec-digest"

# Helm applies the objects of releases under this name, like the helm command line. Drift is also corrected
# under it, so that the next upgrade still owns every field of its manifest.
HELM_FIELD_MANAGER = "helm"

# The operator's requests at the time of the revision (digests of the texts). For a rollback, also the target
# revision, and the digest of the spec that it overrides.
FORCE_LABEL = f"{GROUP}/force"
ROLLBACK_LABEL = f"{GROUP}/rollback"
ROLLED_BACK_TO_LABEL = f"{GROUP}/rolled-back-to"
DESIRED_AT_ROLLBACK_LABEL = f"{GROUP}/desired-at-rollback"
# `VERSION.DIGEST` on a revision that has only run Jobs, before the upgrade to that digest: its workloads are
# the previous ones. Helm copies labels, so the number shows which revision it belongs to.
JOBS_FIRST_LABEL = f"{GROUP}/jobs-first"
# The revision whose uninstall we have begun: a record may also say `uninstalling` because of another client.
REMOVAL_LABEL = f"{GROUP}/removal"

# On a volume that outlives its release, with the name of that release. Removed once a release contains it
# again.
KEPT_LABEL = f"{GROUP}/kept"

# On a Secret with credentials that is about to be deleted, so that nothing uses it meanwhile.
UNUSED_ANNOTATION = f"{GROUP}/unused"

# On a HelmBundle of a service that is missing in this controller's presets, but was not removed by an
# operator.
UNASKED_REMOVAL_ANNOTATION = f"{GROUP}/unasked-removal"

# On a foreign object, or on the newest record of a foreign release: the new owner, `NAMESPACE/RELEASE`.
HAND_OVER_ANNOTATION = f"{GROUP}/hand-over-to"

# Requests of an operator, on a HelmBundle for all its releases, or for one: `<prefix>/<release>`.
RECONCILE_ANNOTATION = f"{GROUP}/reconcile-requested-at"
FORCE_ANNOTATION = f"{GROUP}/force-upgrade-requested-at"
SUSPEND_ANNOTATION = f"{GROUP}/suspend"
RECONCILE_RELEASE_PREFIX = f"reconcile.{GROUP}"
FORCE_RELEASE_PREFIX = f"force-upgrade.{GROUP}"
ROLLBACK_RELEASE_PREFIX = f"rollback.{GROUP}"
SUSPEND_RELEASE_PREFIX = f"suspend.{GROUP}"
SKIP_HOOKS_ANNOTATION = f"{GROUP}/skip-uninstall-hooks"
SKIP_HOOKS_RELEASE_PREFIX = f"skip-uninstall-hooks.{GROUP}"
# The former mode of a region that `osctl suspend` paused, for `osctl resume`.
MODE_BEFORE_ANNOTATION = f"{GROUP}/mode-before-suspend"
# On an osdpl, `NAME=VERSION,…`: version changes that an operator has accepted.
ACCEPT_VERSION_ANNOTATION = f"{GROUP}/accept-version"
# The step of an upgrade that a person has allowed to begin: 2026.1/compute/computes.
UPGRADE_STEP_ANNOTATION = f"{GROUP}/upgrade-step"
# On a Job and its pod: the check before an upgrade that it makes.
UPGRADE_CHECK_LABEL = f"{GROUP}/upgrade-check"
# On a Job and its pod: the step of an upgrade after which it uses the region, in the form of a label.
UPGRADE_SMOKE_LABEL = f"{GROUP}/upgrade-smoke"
# On a Job of a restore and its pod, with the name of the RegionRestore.
RESTORE_LABEL = f"{GROUP}/restore"
# On what makes backups, with what it does: backup, drill, repository.
BACKUP_LABEL = f"{GROUP}/backup"
# On a CronJob of backups: the digest of what the controller asked for.
BACKUP_DIGEST_ANNOTATION = f"{GROUP}/backup-digest"
# On a workload that a restore has stopped: its former number of pods, or `active` or `suspended`.
RESTORE_BEFORE_ANNOTATION = f"{GROUP}/before-restore"
# On a container's Lease, in seconds: the run time of its oldest piece of work.
WORK_AGE_ANNOTATION = f"{GROUP}/work-under-way-seconds"
# The request on the osdpl, which core copies to the region's bundles.
REGION_RECONCILE_ANNOTATION = f"{GROUP}/region-reconcile-requested-at"

# Requests of an operator on a Secret with generated credentials, and the records of the running and the last
# rotation.
ROTATE_ANNOTATION = f"{GROUP}/rotate-requested-at"
ROTATION_ANNOTATION = f"{GROUP}/rotation"
ROTATED_ANNOTATION = f"{GROUP}/rotated-at"
# On a Secret with generated credentials: keyed digests of the content that the controller wrote.
WRITTEN_ANNOTATION = f"{GROUP}/written"

# The key of digests in an installation.
DIGEST_KEY_SECRET = "osctl-digest-key"  # noqa: S105 - a name

# Certificates of the region's own authority. The Secret of this type has its key, and no spec may name it.
# The next has the bundle that all trust. The label on each identifies it.
AUTHORITY_SECRET = "osctl-authority"  # noqa: S105 - a name
AUTHORITY_TYPE = f"{GROUP}/authority"
# In the controller's own namespace, for each region: the key that encrypts the keys in that record.
SEALING_KEY_SECRET = "osctl-authority-key.{region}"  # noqa: S105 - a name
CA_BUNDLE_SECRET = "openstack-ca-bundle"  # noqa: S105 - a name
CERTIFICATE_LABEL = f"{GROUP}/certificate"

# Certificates between Octavia and its amphorae: two authorities, and the Secret that Octavia's pods mount.
# All have the type of an authority, and the label identifies each. The annotation on the second is an
# operator's confirmation that all amphorae were created after the named authority became trusted.
SERVER_AUTHORITY_SECRET = "octavia-server-authority"  # noqa: S105 - a name
CLIENT_AUTHORITY_SECRET = "octavia-client-authority"  # noqa: S105 - a name
AMPHORA_SECRET = "octavia-amphora-certs"  # noqa: S105 - a name
AMPHORA_LABEL = f"{GROUP}/amphora-certificate"
AMPHORAE_TRUST_ANNOTATION = f"{GROUP}/amphorae-trust"

# The region administrator's clouds.yaml, in the region's namespace.
CREDENTIAL_REGISTER = "osctl-credentials"  # names of the region's credentials, present and former
CLOUDS_SECRET = "openstack-clouds"  # noqa: S105 - a name
CLOUDS_KEY = "clouds.yaml"
# The trusted authority, if Keystone uses https.
CLOUDS_CA_KEY = "ca.crt"
# The same for the read-only account.
READER_SECRET = "openstack-reader"  # noqa: S105 - a name

# A ComputeMaintenance that the controller created automatically.
AUTOMATIC_LABEL = f"{GROUP}/automatic"
# On Nodes, each after the namespace of the region (controller/domain/api/region_name.py). A confirmation that
# the machine is off (controller/domain/hosts/fencing_confirmation.py).
FENCED_ANNOTATION = f"{GROUP}/fenced"
# Nova's last update of the compute service of a node that is not ready.
REPORT_ANNOTATION = f"{GROUP}/last-compute-report"
# The maintenance that cordoned it, the time when it lost its readiness, the evacuation that was reverted.
CORDONED_BY_ANNOTATION = f"{GROUP}/cordoned-by"
ABSENCE_ANNOTATION = f"{GROUP}/not-ready-since"
LOSSES_ANNOTATION = f"{GROUP}/readiness-losses"
NO_EVACUATION_ANNOTATION = f"{GROUP}/evacuation-declined"
# The host's place in Nova: a host aggregate, and one that is an availability zone.
AGGREGATE_LABEL = f"{GROUP}/aggregate"
ZONE_LABEL = f"{GROUP}/availability-zone"
# Its host in OpenStack, set by a person.
HOST_ANNOTATION = f"{GROUP}/host"
# A person's confirmation about the disks of its host's servers.
DISKS_ANNOTATION = f"{GROUP}/disks-shared"
# On the pods and budgets that block a drain, with the name of the node.
DRAIN_LOCK_LABEL = f"{GROUP}/drain-lock"


def field_manager(container: str) -> str:
    """Field manager of one container for server-side apply: `osctl-core`."""
    return f"osctl-{container}"


def finalizer(container: str) -> str:
    """Finalizer of one container: `core.osctl.dev/finalizer`."""
    return f"{container}.{GROUP}/finalizer"
