"""Rules about what reaches nothing, or holds only with something else."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import refusal, warning

FILE_NOT_MOUNTED = warning(
    "file-not-mounted",
    "spec.services.*.*.values.conf.*.*.*",
    "no pod of release {release} has the file {file}",
    "mount it by pod.mounts of the chart, from a Secret or a ConfigMap (docs/values.md, Files for options)",
)
FIELD_WITHOUT_EFFECT = warning(
    "field-without-effect",
    "spec.features.*",
    "has no effect in this region, because it needs {needs}",
    "set that too, or remove the field",
)
BACKUP_AGE_WITHOUT_BACKUPS = warning(
    "backup-age-without-backups",
    "spec.upgrade.backupMaxAge",
    "no backup is made, so no upgrade of OpenStack can begin",
    "set {needs}, or remove the field",
)
EXPORTER_BEHIND_POLICIES = warning(
    "exporter-behind-policies",
    "spec.features.database.exporter",
    "network policies block access to its metrics, because spec.features.networkPolicies.monitoring is empty",
    "name the namespace of Prometheus there",
)
OFFERED_TO_ITSELF = warning(
    "offered-to-itself",
    "spec.features.readOnlyAccount.offeredTo[*]",
    "the region's own namespace {namespace} has the account already, in Secret openstack-reader",
    "read that Secret, and name other namespaces only",
)
TREE_OUTSIDE_SUFFIX = warning(
    "tree-outside-suffix",
    "spec.features.identity.ldap.domains[*].*",
    "is not below the suffix {suffix}, where the directory has its entries",
    "write the whole name, which ends with the suffix",
)
DIRECTORY_NAMES_BY_DEFAULT = warning(
    "directory-names-by-default",
    "spec.features.identity.ldap.domains[*].conf",
    "{option} is not set, so Keystone takes the name of a {entry} from {default}, which few directories use",
    "set it, for example {example}; or write {default}, if your directory uses it",
)
NO_PORT = refusal(
    "no-port",
    "spec.services.*.*.values.endpoints.*.port",
    "{number} is not a port number",
    "give a number from 1 to 65535",
)
NODE_PORT_RANGE = warning(
    "node-port-range",
    "spec.services.*.*.values.network.*.node_port.port",
    "Kubernetes refuses {number} as a node port, unless the cluster has a node port range other than "
    "30000-32767",
    "give a number from 30000 to 32767",
)
WINDOW_TOO_RARE = warning(
    "window-too-rare",
    "spec.features.credentialRotation.every",
    "{every} is shorter than the {gap} days between two windows, so credentials get that old",
    "add days to the window, or set every to {gap}d or more",
)
POLICY_REFERENCE_UNKNOWN = warning(
    "policy-reference-unknown",
    "spec.features.policies.*.*",
    'this rule refers to the rule "{name}", which {service} does not have, so it always denies',
    "{remedy}",
)
IMAGE_WITHOUT_TAG = warning(
    "image-without-tag",
    "spec.images.overrides.*",
    "has neither a tag nor a digest, so nodes pull the tag latest",
    "name the tag or the digest",
)
BACKUP_OLDER_THAN_ALLOWED = warning(
    "backup-older-than-allowed",
    "spec.upgrade.backupMaxAge",
    "is shorter than the {gap} between two backups, so an upgrade can begin only shortly after one",
    "raise it, or make backups more often ({schedule})",
)
DUMPS_GO_EARLY = warning(
    "dumps-go-early",
    "spec.features.database.backup.keepDays",
    "dumps are removed after {days} d, but the next dump is made only after {gap}",
    "keep them longer, or make them more often",
)
FILTER_MALFORMED = warning(
    "filter-malformed",
    "spec.features.identity.ldap.domains[*].conf.*",
    "is not an LDAP filter, so the directory refuses each search",
    "close each parenthesis, as in (&(objectClass=person)(memberOf=cn=cloud,dc=example,dc=org))",
)
