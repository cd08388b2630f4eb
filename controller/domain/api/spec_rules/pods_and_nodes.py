"""Rules about values of pods, and values for labelled nodes."""

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
    (
        "a value can differ on some nodes, but cannot be deleted there, because charts merge the values "
        "of nodes over their own values"
    ),
    "set the value for these nodes, or remove this entry",
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
    "apply this when a restart is acceptable; edits below an existing label restart only the pods on "
    "its nodes",
)

NODE_LABELS_TOGETHER = warning(
    "node-labels-together",
    "spec.nodes",
    "chart {chart} creates no pod of {daemonset} on a node with two of the labels {labels}",
    "use values of one label, such as rack::blue and rack::green, so that a node has only one",
)
