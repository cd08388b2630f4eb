"""Rules about charts, their versions and builds, and which services a region has."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import refusal, warning

CHART_VERSIONS_WITHOUT_REPOSITORY = refusal(
    "chart-versions-without-repository",
    "spec.charts.versions",
    "versions can only be chosen for charts of a repository",
    "set spec.charts.repository, or remove the versions",
)
OWN_CHART_VERSION = refusal(
    "own-chart-version",
    "spec.charts.versions.*",
    "chart {name} always comes with the controller",
    "remove its version",
)
CHART_UNUSED = refusal(
    "chart-unused",
    "spec.services.*.*",
    "no release of this region uses chart {chart}",
    "service {service} uses {used}; remove its values",
)
CHART_VERSION_UNUSED = warning(
    "chart-version-unused",
    "spec.charts.versions.*",
    "no release of this region uses chart {name}, so its version has no effect",
)
STORAGE_CLASS_UNUSED = warning(
    "storage-class-unused",
    "spec.storageClasses.*",
    "service {name} claims no volume in this region, so its class has no effect",
    "services that claim one: {claiming}",
)
PROXY_CONTROLLER_ONLY = warning(
    "proxy-controller-only",
    "spec.proxy",
    "affects the controller only, because charts of OpenStack-Helm do not support a proxy",
    "configure the proxy for image pulls on the nodes",
)
IMAGE_VERSION_STEP = refusal(
    "image-version-step",
    "spec",
    "{what}is requested: {message}",
    "{remedy} (docs/upgrade.md, The broker's own version); {allow}",
)
OPENSTACK_DOWNGRADE = refusal(
    "openstack-downgrade",
    "spec.openstackVersion",
    "{newest} runs, and {desired} is older: OpenStack cannot downgrade its databases",
    "{remedy}; {allow}",
)
PRESET_UNKNOWN = refusal(
    "preset-unknown",
    "spec.preset",
    'no preset "{preset}"',
    "{suggestion}",
)
SERVICE_ENABLED_AND_DISABLED = refusal(
    "service-enabled-and-disabled",
    "spec.features.services.disabled[*]",
    'service "{service}" is both enabled and disabled',
    "remove it from one of the two lists",
)
SERVICE_UNKNOWN = refusal(
    "service-unknown",
    "spec.features.services.*[*]",
    'no service "{service}"',
    "{suggestion}",
)
NEEDED_SERVICE_DISABLED = refusal(
    "needed-service-disabled",
    "spec.features.services.disabled[*]",
    'service "{service}" needs "{needed}"',
    'keep "{service}", or disable "{service}" too',
)
NEEDED_SERVICE_ABSENT = refusal(
    "needed-service-absent",
    "spec.features.services.enabled[*]",
    'service "{service}" needs "{needed}", which preset {preset} does not include',
    'add "{needed}" to spec.features.services.enabled',
)
SERVICE_NOT_OFFERED = refusal(
    "service-not-offered",
    "spec.features.services.enabled[*]",
    'service "{service}": {charts} do not have {missing}',
    "{remedy}",
)
BUILDS_UNTESTED = warning(
    "builds-untested",
    "spec.charts.repository",
    "untested builds of charts: {untested}; builds of OpenStack-Helm {pinned} and {previous} are tested",
    "osctl charts shows the build of each chart, and whether it is tested",
)
BUILD_LACKS_KEY_OMITTED = warning(
    "build-lacks-key-omitted",
    "spec.charts.repository",
    "{called} does not have {keys}, so it is omitted",
    "use a build that has it: osctl charts shows the build of each chart, and whether it is tested",
)
BUILD_LACKS_KEY_NEEDED = refusal(
    "build-lacks-key-needed",
    "spec.charts.repository",
    "{called} does not have {key}, which this region needs",
    (
        "use the build of {pinned}, or remove what needs it; osctl charts shows the build of each chart, "
        "and whether it is tested"
    ),
)
OPENSTACK_STEP_UNSUPPORTED = refusal(
    "openstack-step-unsupported",
    "spec.openstackVersion",
    "{newest} runs, and OpenStack does not support an upgrade from it to {desired}",
    "upgrade to the versions in between first; {allow}",
)
