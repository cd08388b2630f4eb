"""Rules about values: their shape, layers, secrets and sizes."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import refusal, warning

ONE_PULL_SECRET = refusal(
    "one-pull-secret",
    "spec.images.pullSecrets[1]",
    "the charts of OpenStack-Helm accept one pull secret",
    "put the credentials of all registries into one Secret",
)

VALUES_OF_UNKNOWN_SERVICE = refusal(
    "values-of-unknown-service",
    "spec.services.*",
    'no service "{service}"',
    "{suggestion}",
)

VALUES_OF_DISABLED_SERVICE = refusal(
    "values-of-disabled-service",
    "spec.services.*",
    'service "{service}" is not enabled',
    "add it to spec.features.services.enabled, or remove its values",
)

ONLY_VALUES_SET = refusal(
    "only-values-set",
    "spec.services.*.*.*",
    '"{key}" cannot be set here',
    'only "values" can be overridden',
)

VALUES_NO_MAP = refusal(
    "values-no-map",
    "spec.services.*.*.values",
    "expected a map, got {got}",
    "give a map of chart values",
)

VALUES_TYPE_CONFLICT = refusal(
    "values-type-conflict",
    "spec.services.*.*.values",
    "expected {wanted}, as in {owner}; {layer} has {got}",
    "{remedy}",
)

SECRET_WITH_DOLLAR = refusal(
    "secret-with-dollar",
    "spec.services.*.*.values",
    '{secret} has a "$", which this chart cannot write into a file',
    "put a text without it into the Secret",
)

SECRET_NOT_ONE_LINE = refusal(
    "secret-not-one-line",
    "spec.services.*.*.values",
    "{secret} has several lines or control characters, but it becomes one option",
    "put one line of text into the Secret",
)

SECRET_REF_MALFORMED = refusal(
    "secret-ref-malformed",
    "spec.services.*.*.values",
    "malformed $secretRef",
    "write {{$secretRef: {{name: <Secret>, key: <key>}}}} alone",
)

SECRET_REF_RESERVED = refusal(
    "secret-ref-reserved",
    "spec.services.*.*.values",
    'Secret "{name}" is {purpose}',
    "name a Secret that is meant for values",
)

KEY_MISSPELT = warning(
    "key-misspelt",
    "spec.services.*.*.values",
    'chart {chart} has no "{key}" here',
    'did you mean "{near}"? It is used as written.',
)

ENDPOINT_HOST_UNMADE = warning(
    "endpoint-host-unmade",
    "spec.services.*.*.values.endpoints.*.hosts",
    "no release creates Service {name}, which {release} uses",
    "name an existing Service, or give its full name in host_fqdn_override",
)

PASSWORD_IN_CLEAR = refusal(
    "password-in-clear",
    "spec.services.*.*.values",
    "release {release} would get a secret in plain text{origin}",
    "refer to a Secret instead: {{$secretRef: {{name: <Secret>, key: <key>}}}}",
)

BUNDLE_TOO_LARGE = refusal(
    "bundle-too-large",
    "spec.services.*",
    (
        "the HelmBundle would take {octets}, but etcd can store at most {most}; the largest of its "
        "releases: {named}"
    ),
    (
        "move large texts into your own ConfigMaps or Secrets, and name these in the values; values "
        "under spec.common are in every release"
    ),
)

VALUE_TOO_SMALL = warning(
    "value-too-small",
    "spec.services.*.*.values",
    "{name} {value} is {relation} {other}: {why}",
    "set it to {least} or more",
)

EVEN_NUMBER_OF_SERVERS = warning(
    "even-number-of-servers",
    "spec.services.*.*.values",
    "{count} {servers} serve only while {majority} of them run, like {more}",
    "use {fewer} or {more}",
)

KEYS_EXPIRE_BEFORE_TOKENS = warning(
    "keys-expire-before-tokens",
    "spec.services.*.*.values",
    "{keys} {what}, rotated every {gap} h, expire before tokens of {life} h",
    "set {name} to {needed} or more, or rotate less often",
)

JOB_SWITCHED_OFF = warning(
    "job-switched-off",
    "spec.services.*.*.values",
    "without {jobs} {why}",
    "leave it on, or do its work yourself before the release comes",
)

TOO_MANY_CONNECTIONS = warning(
    "too-many-connections",
    "spec.services.*.*.values",
    "the processes of all services keep connections {number}, and the {server} take {limit}",
    "lower {option} or the number of processes, or raise {name}",
)

LAYER_DELETED = refusal(
    "layer-deleted",
    "spec.services.*.*.values",
    "the values of a layer cannot be deleted",
    "remove the field",
)

MARK_UNKNOWN = refusal(
    "mark-unknown",
    "spec.services.*.*.values",
    'unknown mark "{mark}"',
    "known are $patch and $secretRef",
)

PATCH_MALFORMED = refusal(
    "patch-malformed",
    "spec.services.*.*.values",
    "malformed $patch",
    "write {{$patch: delete}} alone, or {{$patch: replace, …}}",
)

PATCH_IN_LIST = refusal(
    "patch-in-list",
    "spec.services.*.*.values",
    "$patch inside a list",
    "lists are replaced as a whole",
)

KEY_UNKNOWN = refusal(
    "key-unknown",
    "spec.*",
    "no {what}",
    "{suggestion}",
)

RELEASE_UNKNOWN = refusal(
    "release-unknown",
    "spec",
    "has no release {release}",
)

NETWORK_POLICY_REPLACED = refusal(
    "network-policy-replaced",
    "spec.services.*.*.values.network_policy.*.ingress",
    "this list replaces the list of the region, so {who} cannot reach {name}",
    (
        "remove it, and name monitoring in spec.features.networkPolicies.monitoring; or add what the region "
        "needs"
    ),
)

NETWORK_POLICY_CLOSES = warning(
    "network-policy-closes",
    "spec.services.*.*.values.network_policy.*.ingress",
    "this list replaces the list of the chart, which allows all traffic: no pod of the region can "
    "reach {name}",
    "add the pods that need it",
)
