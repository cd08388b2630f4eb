"""Names that parts of the product agree on: API group, labels, annotations, field managers."""

from __future__ import annotations

GROUP = "osctl.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

CONTAINERS = ("core", "helmbundle", "health", "secrets", "node")
# Deployed where it was chosen; no region waits for it.
OPTIONAL_CONTAINERS = ("servers",)

# Helm marks what it manages (helm.sh/helm/v4/pkg/action/validate.go), but not what its hooks make, which
# carry this one. Hooks name their release by a label: the charts' own one, and that of OpenStack-Helm.
RELEASE_NAME = "meta.helm.sh/release-name"
RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
HOOK = "helm.sh/hook"
RELEASE_LABELS = ("app.kubernetes.io/instance", "release_group")

# Labels on what we create.
DEPLOYMENT_LABEL = f"{GROUP}/deployment"  # name of the osdpl
SERVICE_LABEL = f"{GROUP}/service"  # OpenStack service type: identity, compute, database …
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGED_BY_US = "openstack-controller"

EXCHANGE_LABEL = f"{GROUP}/exchange"  # with whom the content was exchanged: ceph
REGION_LABEL = f"{GROUP}/region-namespace"  # in namespaces that several regions share: of which one it is

# On a Secret that its namespace offers to another one, or asks another one for; each names the other side.
SHARED_LABEL = f"{GROUP}/shared"
OFFER, REQUEST = "offer", "request"
OFFERED_TO_ANNOTATION = f"{GROUP}/offered-to"
REQUESTED_FROM_ANNOTATION = f"{GROUP}/requested-from"
# What a copy was filled from.
COPIED_FROM_ANNOTATION = f"{GROUP}/copied-from"
NOT_COPIED_ANNOTATION = f"{GROUP}/not-copied"
# Where copies were filled beyond the region's namespace.
COPIES_CONFIGMAP = "osctl-copies"

# Labels on Helm's own release records (Secrets of type helm.sh/release.v1), set through Helm's
# --labels: a revision carries what it was made from, so that nothing else has to remember it.
BUNDLE_LABEL = f"{GROUP}/bundle"  # name of the HelmBundle
DIGEST_LABEL = f"{GROUP}/digest"  # digest of chart and resolved values, first 40 hex digits
# The revision number we expected to make. `helm upgrade` by hand copies all labels of the revision
# before, but not a number that fits its own: that is how a foreign revision is told from ours.
REVISION_LABEL = f"{GROUP}/revision"
CHART_VERSION_LABEL = f"{GROUP}/chart-version"
# Digest of the spec that the revision was made for: values, and the chart's name, version and place.
# Unlike the digest above it can be computed without the chart.
SPEC_DIGEST_LABEL = f"{GROUP}/spec-digest"

# Under this name Helm applies the objects of releases, as the helm command line does. Drift is corrected
# under it too, so that the next upgrade still owns every field of its manifest.
HELM_FIELD_MANAGER = "helm"

# What the operator had asked for when the revision was made (marks of the texts), and of a rollback to
# which revision it went back and which digest it holds out against.
FORCE_LABEL = f"{GROUP}/force"
ROLLBACK_LABEL = f"{GROUP}/rollback"
ROLLED_BACK_TO_LABEL = f"{GROUP}/rolled-back-to"
DESIRED_AT_ROLLBACK_LABEL = f"{GROUP}/desired-at-rollback"
# `VERSION.DIGEST` on a revision that has only run Jobs, before the upgrade to that digest: its workloads are
# those of before. Helm copies labels, so the number says whose it is.
JOBS_FIRST_LABEL = f"{GROUP}/jobs-first"
# The revision that we have begun to take apart: a record may say `uninstalling` of someone else's doing.
REMOVAL_LABEL = f"{GROUP}/removal"

# On a volume that outlives what made it, with the name of that release. Gone once a release has it again.
KEPT_LABEL = f"{GROUP}/kept"

# On a Secret with credentials that is about to be deleted: nobody uses it meanwhile.
UNUSED_ANNOTATION = f"{GROUP}/unused"

# On a HelmBundle of a service that the presets of another controller do not have, and nobody took out.
UNASKED_REMOVAL_ANNOTATION = f"{GROUP}/unasked-removal"

# On an object, or on the newest record of a release, of others: `NAMESPACE/RELEASE` that is to have it.
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
# The mode of a region that `osctl suspend` paused, for `osctl resume` to go back to.
MODE_BEFORE_ANNOTATION = f"{GROUP}/mode-before-suspend"
# On an osdpl, `NAME=VERSION,…`: changes of version that an operator has answered for.
ACCEPT_VERSION_ANNOTATION = f"{GROUP}/accept-version"
# On a container's Lease, in seconds: how long one piece of its work has been under way.
WORK_AGE_ANNOTATION = f"{GROUP}/work-under-way-seconds"
# The request on the osdpl, as core hands it on to the region's bundles.
REGION_RECONCILE_ANNOTATION = f"{GROUP}/region-reconcile-requested-at"

# Requests of an operator, on a Secret with generated credentials; and what is remembered there of a rotation
# under way, and of the last one.
ROTATE_ANNOTATION = f"{GROUP}/rotate-requested-at"
ROTATION_ANNOTATION = f"{GROUP}/rotation"
ROTATED_ANNOTATION = f"{GROUP}/rotated-at"
# On a Secret with generated credentials: keyed digests of what the controller has written into it.
WRITTEN_ANNOTATION = f"{GROUP}/written"

# The key of digests in an installation.
DIGEST_KEY_SECRET = "osctl-digest-key"  # noqa: S105 - a name

# Certificates of the region's own authority: the Secret of this type has its key, and no spec may name it;
# the next has what all trust; the label says on each which of them it is.
AUTHORITY_SECRET = "osctl-authority"  # noqa: S105 - a name
AUTHORITY_TYPE = f"{GROUP}/authority"
# In the controller's own namespace, for each region: what the keys in that record are sealed with.
SEALING_KEY_SECRET = "osctl-authority-key.{region}"  # noqa: S105 - a name
CA_BUNDLE_SECRET = "openstack-ca-bundle"  # noqa: S105 - a name
CERTIFICATE_LABEL = f"{GROUP}/certificate"

# Certificates between Octavia and its amphorae: two authorities, and what Octavia's pods mount. All have
# the type of an authority, and the label says which is which. The annotation on the second: an operator's
# word that all amphorae were made since the authority that it names is trusted.
SERVER_AUTHORITY_SECRET = "octavia-server-authority"  # noqa: S105 - a name
CLIENT_AUTHORITY_SECRET = "octavia-client-authority"  # noqa: S105 - a name
AMPHORA_SECRET = "octavia-amphora-certs"  # noqa: S105 - a name
AMPHORA_LABEL = f"{GROUP}/amphora-certificate"
AMPHORAE_TRUST_ANNOTATION = f"{GROUP}/amphorae-trust"

# What the region's administrator is known by in its OpenStack: a clouds.yaml, in the region's namespace.
CREDENTIAL_REGISTER = "osctl-credentials"  # names of the credentials that the region has had
CLOUDS_SECRET = "openstack-clouds"  # noqa: S105 - a name
CLOUDS_KEY = "clouds.yaml"
# Whom to trust, where Keystone is reached by https.
CLOUDS_CA_KEY = "ca.crt"
# The same of the account that may only read, for others.
READER_SECRET = "openstack-reader"  # noqa: S105 - a name

# A NodeMaintenance that the controller made by itself.
AUTOMATIC_LABEL = f"{GROUP}/automatic"
# On Nodes, each after the namespace of the region (controller/domain/api/region_name.py). A confirmation that
# the machine is off (controller/domain/hosts/fencing_confirmation.py).
FENCED_ANNOTATION = f"{GROUP}/fenced"
# What Nova had last written of the compute service of a node that is not ready.
REPORT_ANNOTATION = f"{GROUP}/last-compute-report"
# By which maintenance it was cordoned, when it lost its readiness, which evacuation was taken back.
CORDONED_BY_ANNOTATION = f"{GROUP}/cordoned-by"
ABSENCE_ANNOTATION = f"{GROUP}/not-ready-since"
LOSSES_ANNOTATION = f"{GROUP}/readiness-losses"
NO_EVACUATION_ANNOTATION = f"{GROUP}/evacuation-declined"
# Where Nova is to have the host: a host aggregate, and one that is an availability zone.
AGGREGATE_LABEL = f"{GROUP}/aggregate"
ZONE_LABEL = f"{GROUP}/availability-zone"
# Which host of OpenStack it is, said by a person.
HOST_ANNOTATION = f"{GROUP}/host"
# What a person has confirmed of the disks of its host's servers.
DISKS_ANNOTATION = f"{GROUP}/disks-shared"
# On the pods and budgets that hold back a drain, with the name of the node.
DRAIN_LOCK_LABEL = f"{GROUP}/drain-lock"


def field_manager(container: str) -> str:
    """Field manager of one container for server-side apply: `osctl-core`."""
    return f"osctl-{container}"


def finalizer(container: str) -> str:
    """Finalizer of one container: `core.osctl.dev/finalizer`."""
    return f"{container}.{GROUP}/finalizer"
