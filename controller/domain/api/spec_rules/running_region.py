"""Rules about what runs already, and would be lost, taken or doubled."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import refusal, warning

NOT_CHECKED = refusal(
    "not-checked",
    "spec",
    "not checked because of errors in {failed}: {services}",
    "correct those first, and validate again",
)
RELEASE_RESERVED = refusal(
    "release-reserved",
    "spec.services.*",
    'release "{name}" is the controller\'s own installation in "{namespace}"',
    "install the controller under another name, or in a separate namespace",
)
VOLUME_NODE_MISSING = warning(
    "volume-node-missing",
    "spec.features.blockStorage.backends",
    (
        "no node has the label {key}, which selects the node for volumes of type lvm: cinder-volume runs "
        "on any node with the label {chosen}"
    ),
    "label the node with the volume group: kubectl label node NAME {key}={value}",
)
BUNDLE_NAME_TAKEN = refusal(
    "bundle-name-taken",
    "spec",
    (
        "the region needs this name for its service {name}, but that bundle does not have the region's "
        "labels; the controller does not change it"
    ),
    (
        "move its releases to a bundle of another name, and delete it (kubectl -n {namespace} delete hb "
        "{name} uninstalls its releases); or, if it belongs to the region and has lost its labels: "
        "kubectl -n {namespace} label --overwrite hb {name} {labels}"
    ),
)
OWN_SERVER_RUNS = refusal(
    "own-server-runs",
    "spec.features.*.external",
    "the region still has its own {name}, and the Service of that name leads to the pods of the region",
    (
        "remove the field until the data is on the external server, and then run: {kubectl} annotate "
        "helmbundle {service} osctl.dev/suspend=true && {kubectl} delete service {name} "
        "(docs/external-servers.md)"
    ),
)
SERVICE_KEPT = warning(
    "service-kept",
    "spec.features.services",
    (
        '"{service}" runs, but this version of the controller does not derive this service from the spec; '
        "the service stays as it is"
    ),
    (
        'add "{service}" to spec.features.services.enabled to keep it, or to '
        "spec.features.services.disabled to remove it"
    ),
)
UPGRADE_PAST_RETURN = refusal(
    "upgrade-past-return",
    "spec.openstackVersion",
    ("the upgrade from {source_version} to {target} is not finished, and has passed the point of no return"),
    ("set {target} and correct what status.upgrade reports, or restore the databases and set {annotation}"),
)
UPGRADE_UNDER_WAY = refusal(
    "upgrade-under-way",
    "spec.openstackVersion",
    "the upgrade from {source_version} to {target} is not finished",
    "keep {target} until the upgrade is finished{back}",
)
