"""Rules about values: their shape, options, secrets, pods, and values for labelled nodes."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import refusal, warning

REPLICAS_MALFORMED = refusal(
    "replicas-malformed",
    "spec.services.*.*.values.pod.replicas.*",
    "expected a whole number, got {got}",
    "give the number of pods, such as 3",
)
DISRUPTION_BUDGET_FULL = warning(
    "disruption-budget-full",
    "spec.services.*.*.values.pod.lifecycle.disruption_budget.*",
    "{kept} of {count} pods must be available, so a node that runs one cannot be drained",
    "require fewer ({least}), or run more ({replicas})",
)
POD_VALUE_UNREAD = warning(
    "pod-value-unread",
    "spec.services.*.*.values.pod.*.*",
    'chart {chart} has no "{key}" here, so it has no effect',
    "known are {known}",
)
REQUEST_ABOVE_LIMIT = refusal(
    "request-above-limit",
    "spec.services.*.*.values.pod.resources.*",
    "requests {asked} of {resource} with a limit of {most}, so Kubernetes refuses the pod",
    "raise {place} to at least that, or request less",
)
RESOURCE_UNKNOWN = refusal(
    "resource-unknown",
    "spec.services.*.*.values.pod.resources.*",
    'Kubernetes has no resource "{resource}"',
    "{suggestion}",
)
QUANTITY_MALFORMED = refusal(
    "quantity-malformed",
    "spec.services.*.*.values.pod.resources.*",
    "expected a quantity of Kubernetes, got {got}",
    "write it as 500m or 2 for CPU, as 512Mi or 4Gi for memory",
)
NODE_VALUE_DELETED = refusal(
    "node-value-deleted",
    "spec.nodes.*.services.*.*.*.values",
    ("a value can differ on some nodes, but cannot be deleted there, because charts merge it over their own"),
    "give the value for these nodes, or remove this",
)
NODE_LABELS_IN_VALUES = refusal(
    "node-labels-in-values",
    "spec.services.*.*.values.conf.overrides",
    "labels are listed here and in spec.nodes, and those here would be lost",
    "write all of them under spec.nodes",
)
NODE_LABEL_NOT_USABLE = refusal(
    "node-label-not-usable",
    "spec.nodes.*",
    'chart {chart} names objects after the label, and Kubernetes accepts no name with "{key}"',
    (
        "label the nodes with your own key: kubectl label nodes -l {key}={value} {own}={value}, and "
        'write "{own}::{value}" here'
    ),
)
NODE_DAEMONSET_UNKNOWN = refusal(
    "node-daemonset-unknown",
    "spec.nodes.*.services.*.*.*",
    'chart {chart} has no DaemonSet "{daemonset}" that can differ by node',
    "{suggestion}",
)
NODE_DAEMONSET_MISSING = refusal(
    "node-daemonset-missing",
    "spec.nodes.*.services.*.*.*",
    'release {chart} of this region has no DaemonSet "{daemonset}"',
    "{suggestion}",
)
NODE_VALUES_NO_MAP = refusal(
    "node-values-no-map",
    "spec.nodes.*.services.*.*.*.values",
    "expected a map, got {got}",
    "give a map of chart values",
)
NODE_VALUES_NOT_CONF = refusal(
    "node-values-not-conf",
    "spec.nodes.*.services.*.*.*.values.*",
    '"{key}" of chart {chart} cannot differ by node',
    "only conf can differ",
)
NODE_LABEL_MALFORMED = refusal(
    "node-label-malformed",
    "spec.nodes.*",
    '"{key}" is not a label with a value',
    'write "<label>::<value>", as "openstack-compute-node::gpu"',
)
NODE_LABEL_UNUSED = warning(
    "node-label-unused",
    "spec.nodes.*",
    "no node of the cluster has the label {label}={value}: these values reach no node",
    "kubectl label node NODE {label}={value}, or correct the label",
)
DAEMONSET_RENAMED = warning(
    "daemonset-renamed",
    "spec.nodes",
    (
        "release {release}: DaemonSet {daemonset} gets another name, because a label was added or "
        "removed; all its pods restart at once, on every node"
    ),
    "choose a time for that; edits below an existing label restart only its nodes",
)
NODE_LABELS_TOGETHER = warning(
    "node-labels-together",
    "spec.nodes",
    "chart {chart} creates no pod of {daemonset} on a node with two of the labels {labels}",
    "use values of one label, such as rack::blue and rack::green, so that a node has only one",
)
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
TEXT_READ_AS_TRUE = warning(
    "text-read-as-true",
    "spec.services.*.*.values",
    "expected true or false, got {got}, which charts read as true",
    "write true or false without quotes",
)
TEXT_FOR_NUMBER = warning(
    "text-for-number",
    "spec.services.*.*.values",
    "expected a number, as in the chart and the controller, got {got}",
    "give a number",
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
SECTION_UNKNOWN = warning(
    "section-unknown",
    "spec.services.*.*.values.conf.*.*",
    'no package of OpenStack {series} has options of a section "{section}" in {file}.conf',
    'did you mean "{near}"? It is used as written.',
)
OPTION_UNKNOWN = warning(
    "option-unknown",
    "spec.services.*.*.values.conf.*.*.*",
    'no package of OpenStack {series} has an option "{option}" in {where}',
    "{remedy}",
)
POLICY_NAME_UNKNOWN = warning(
    "policy-name-unknown",
    "spec.features.policies.*.*",
    '{service} has no rule "{name}"',
    "{remedy}",
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
OPTION_NAME_MALFORMED = refusal(
    "option-name-malformed",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} has a name with special characters',
    "write the name of an option, without = : # ; [ and line breaks",
)
OPTION_EMPTY_MAP = refusal(
    "option-empty-map",
    "spec.services.*.*.values.conf.*.*.*",
    (
        'option "{option}" of {where} has an empty map, and charts write nothing for it: the default of '
        "the package holds"
    ),
    'leave it out, or write "" for an empty text',
)
OPTION_MAP = refusal(
    "option-map",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} has a map, for which charts write nothing',
    "{remedy}",
)
OPTION_SEVERAL_VALUES = refusal(
    "option-several-values",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} has several lines, of which the service uses the last one',
    "give one value",
)
OPTION_NESTED_LIST = refusal(
    "option-nested-list",
    "spec.services.*.*.values.conf.*.*.*",
    (
        'option "{option}" of {where} has a list or a map in a list, which charts print as Go does, as '
        "map[a:1]"
    ),
    "give a list of texts and numbers",
)
OPTION_LIST_ON_ONE_LINE = refusal(
    "option-list-on-one-line",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} may occur several times, but a list becomes one line with commas',
    "write {{type: multistring, values: [...]}}, which becomes a line for each",
)
OPTION_COMMA_IN_ITEM = refusal(
    "option-comma-in-item",
    "spec.services.*.*.values.conf.*.*.*",
    ('option "{option}" of {where} has a comma in an item of its list, which the service reads as two items'),
    "write each of them as a separate item",
)
OPTION_SEVERAL_LINES = refusal(
    "option-several-lines",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} has several lines, which the service reads as separate options',
    "write one line (in YAML >- joins lines), or start each further one with a space",
)
OPTION_QUOTED = refusal(
    "option-quoted",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} begins and ends with a quote, which the service removes',
    "remove them; YAML's own quotes are not part of the value",
)
OPTION_LIST_WITH_BRACKETS = refusal(
    "option-list-with-brackets",
    "spec.services.*.*.values.conf.*.*.*",
    (
        'option "{option}" of {where} is a list without brackets: the service reads them as part of the '
        "first and last item"
    ),
    "remove them, or give a list",
)
OPTION_TYPE = refusal(
    "option-type",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} is {wanted}, got {got}',
    "{remedy}",
)
OPTION_REFERENCE_UNKNOWN = refusal(
    "option-reference-unknown",
    "spec.services.*.*.values.conf.*.*.*",
    ('option "{option}" of {where} refers to an option "{name}", which no package of OpenStack {series} has'),
    "write $$ for a dollar sign, or name an existing option",
)
RELEASE_UNKNOWN = refusal(
    "release-unknown",
    "spec",
    "has no release {release}",
)
NETWORK_POLICY_REPLACED = refusal(
    "network-policy-replaced",
    "spec.services.*.*.values.network_policy.*.ingress",
    "this list replaces that of the region, and cuts off {who} from {name}",
    (
        "remove it, and name monitoring in spec.features.networkPolicies.monitoring; or add what the region "
        "needs"
    ),
)
NETWORK_POLICY_CLOSES = warning(
    "network-policy-closes",
    "spec.services.*.*.values.network_policy.*.ingress",
    "this list replaces the chart's, which admits all: no pod of the region reaches {name}",
    "add the pods that need it",
)
OPTION_WITHOUT_ITEM = warning(
    "option-without-item",
    "spec.services.*.*.values.conf.*",
    "{option} needs {item} in {list}: {why}",
    "{remedy}",
)
