"""What our chart installs: one pod, secured, with rights that are listed one by one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from controller.domain.api.names import CONTAINERS, DIGEST_KEY_SECRET, OPTIONAL_CONTAINERS, SEALING_KEY_SECRET
from controller.domain.validation.rbac_union import granted
from controller.ports.kubernetes import resource_of
from controller.settings import MIB, MachineSettings, read_settings
from tests.api.definitions import CRDS
from tests.helm_program import Chart, HelmError
from tools.chart_objects import CONTROLLER_CHART, chart_rules, objects, service_charts

CHART = Chart.load(CONTROLLER_CHART)
DEFAULTS: Mapping[str, Any] = yaml.load(
    (CONTROLLER_CHART / "values.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)
FORBIDDEN_VERBS = {"*", "escalate", "bind", "impersonate", "deletecollection", "approve", "sign"}
# The one account that the containers may pose as.
CHARTS_ACCOUNT = ("impersonate", "serviceaccounts", "osctl-charts")


def _render(*, definitions: bool = False, **values: Any) -> list[dict[str, Any]]:
    """The objects; the definitions, 3,000 lines of YAML, only where a test asks for them."""
    given = {"crds": {"install": definitions}, **values}
    texts = CHART.render(given, name="osctl", namespace="controllers")
    return [
        obj
        for path, text in texts.items()
        if not path.endswith("NOTES.txt")
        for obj in yaml.load_all(text, Loader=yaml.CSafeLoader)
        if obj
    ]


def _of(kind: str, rendered: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [obj for obj in rendered if obj["kind"] == kind]


def _pod(**values: Any) -> dict[str, Any]:
    [deployment] = _of("Deployment", _render(**values))
    template = deployment["spec"]["template"]["spec"]
    assert isinstance(template, dict)
    return template


def _environment(container: Mapping[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


@pytest.mark.slow
def test_the_definitions_are_installed_as_the_files_have_them() -> None:
    installed = {
        crd["metadata"]["name"]: crd for crd in _of("CustomResourceDefinition", _render(definitions=True))
    }
    files = [yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in CRDS.glob("*.yaml")]
    assert installed == {crd["metadata"]["name"]: crd for crd in files}
    assert len(files) == 5


def test_the_definitions_can_be_left_out() -> None:
    assert _of("CustomResourceDefinition", _render(definitions=False)) == []


def test_there_is_one_pod_that_is_never_there_twice() -> None:
    [deployment] = _of("Deployment", _render())
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


def test_the_pod_has_five_containers_of_one_image_each_with_its_command() -> None:
    containers = _pod()["containers"]
    assert [container["name"] for container in containers] == list(CONTAINERS)
    assert [container["command"] for container in containers] == [[f"osctl-{name}"] for name in CONTAINERS]
    assert {container["image"] for container in containers} == {"openstack-controller:0.1.0"}


def test_a_disabled_container_is_not_deployed_and_not_waited_for() -> None:
    containers = _pod(containers={"node": {"enabled": False}, "core": {"enabled": False}})["containers"]
    left = ["helmbundle", "health", "secrets"]
    assert [container["name"] for container in containers] == left
    assert {_environment(container)["DEPLOYED_CONTAINERS"] for container in containers} == {",".join(left)}


def test_bundles_alone_may_complete_the_secret_of_their_key_and_change_no_other() -> None:
    others = {name: {"enabled": False} for name in CONTAINERS if name != "helmbundle"}
    held = {(name, verb) for _, resource, name, verb in _of_account(others) if resource == "secrets"}
    assert held == {("", "get"), ("", "list"), ("", "create"), (DIGEST_KEY_SECRET, "patch")}


def _of_account(containers: dict[str, Any]) -> frozenset[tuple[str, str, str, str]]:
    return _held(_render(containers=containers), "osctl")


@pytest.mark.parametrize(
    ("container", "gone"),
    [
        ("core", ("apps", "deployments", "", "patch")),
        ("helmbundle", ("", "serviceaccounts", "osctl-charts", "impersonate")),
        ("health", ("apps", "deployments", "", "watch")),
        ("secrets", ("", "secrets", "", "delete")),
        ("node", ("osctl.dev", "computemaintenances", "", "create")),
    ],
)
def test_the_rights_of_a_container_go_when_it_is_disabled(
    container: str, gone: tuple[str, str, str, str]
) -> None:
    assert gone in _of_account({})
    assert gone not in _of_account({container: {"enabled": False}})


def test_servers_are_served_only_where_that_was_chosen() -> None:
    containers = _pod(servers={"enabled": True, "namespaces": ["team"]})["containers"]
    assert [container["name"] for container in containers] == [*CONTAINERS, *OPTIONAL_CONTAINERS]
    settings = read_settings(_environment(containers[-1]))
    assert settings.containers == (*CONTAINERS, *OPTIONAL_CONTAINERS)
    assert settings.server_namespaces == ("openstack", "team")
    assert containers[-1]["command"] == ["osctl-servers"]
    assert "servers" not in str(granted(_render()))


def test_servers_have_a_role_in_each_namespace_that_is_named() -> None:
    rendered = _render(servers={"enabled": True, "namespaces": ["team"]})
    roles = [one for one in _of("Role", rendered) if one["metadata"]["name"].endswith("-servers")]
    assert [one["metadata"]["namespace"] for one in roles] == ["openstack", "team"]
    assert granted(roles[1:]) == {
        *(("osctl.dev", "openstackservers", "", verb) for verb in ("get", "list", "watch", "patch")),
        ("osctl.dev", "openstackservers/status", "", "patch"),
        ("", "secrets", "", "get"),
        *(("", "events", "", verb) for verb in ("get", "create", "patch")),
    }
    bound = [one for one in _of("RoleBinding", rendered) if one["metadata"]["namespace"] == "team"]
    assert [one["roleRef"]["name"] for one in bound] == [roles[1]["metadata"]["name"]]
    leases = {name for _, resource, name, _ in granted(rendered) if resource == "leases"}
    assert "osctl-servers" in leases


def test_the_settings_that_the_chart_makes_are_those_that_a_container_reads() -> None:
    for container in _pod(region={"namespace": "openstack"}, settings={"logLevel": "DEBUG"})["containers"]:
        settings = read_settings(_environment(container))
        assert settings.region_namespace == "openstack"
        assert settings.containers == CONTAINERS
        assert settings.log_level == "DEBUG"
        assert settings.version == "0.1.0"
        assert (settings.concurrency, settings.qps, settings.resync) == (16, 200, 300)


@pytest.mark.slow
def test_what_is_under_way_is_waited_for_within_the_grace_period_that_kubernetes_gives() -> None:
    for grace, seconds in ((None, 20), (600, 590), (5, 0)):
        pod = _pod(**({} if grace is None else {"terminationGracePeriodSeconds": grace}))
        for container in pod["containers"]:
            assert read_settings(_environment(container)).stop_within == seconds
            assert seconds < pod["terminationGracePeriodSeconds"]


def test_the_longest_pause_between_tries_is_a_setting() -> None:
    for settings, seconds in (({}, 300), ({"retryCapSeconds": 60}, 60)):
        containers = {one["name"]: one for one in _pod(settings=settings)["containers"]}
        assert read_settings(_environment(containers["helmbundle"])).retry_cap == seconds


MACHINES = {"enabled": True, "cluster": "ocp", "virtualAddresses": ["10.0.0.5", "10.0.0.7"]}


@pytest.mark.slow
def test_machine_sets_are_mirrored_only_where_that_was_chosen() -> None:
    containers = _pod(servers={"enabled": True}, machines=MACHINES)["containers"]
    machines = read_settings(_environment(containers[-1])).machines
    assert machines == MachineSettings(
        cluster="ocp",
        namespace="openshift-machine-api",
        cluster_namespace="openshift-cluster-api",
        template_owner="MachineSet",
        virtual_addresses=("10.0.0.5", "10.0.0.7"),
    )
    plain = _pod(servers={"enabled": True})["containers"][-1]
    assert read_settings(_environment(plain)).machines is None
    assert "machine" not in str(granted(_render(servers={"enabled": True})))


def test_mirrors_want_the_container_that_makes_them_and_a_cluster() -> None:
    with pytest.raises(HelmError, match=r"machines\.enabled needs servers\.enabled"):
        _render(machines=MACHINES)
    with pytest.raises(HelmError, match=r"machines\.cluster: name the Cluster"):
        _render(servers={"enabled": True}, machines={"enabled": True})


def test_mirrors_have_a_role_where_the_sets_are_and_one_where_the_cluster_is() -> None:
    rendered = _render(servers={"enabled": True}, machines=MACHINES)
    sources, mirrors = (
        one for one in _of("Role", rendered) if one["metadata"]["name"].endswith(("-sources", "-mirrors"))
    )
    assert sources["metadata"]["namespace"] == "openshift-machine-api"
    assert mirrors["metadata"]["namespace"] == "openshift-cluster-api"
    assert granted([sources]) == {
        *(
            ("machine.openshift.io", "machinesets", "", verb)
            for verb in ("get", "list", "watch", "update", "delete")
        ),
        ("machine.openshift.io", "machinesets/status", "", "update"),
        *(("", "events", "", verb) for verb in ("get", "create", "patch")),
    }
    made = ("get", "list", "watch", "create", "update", "delete")
    assert granted([mirrors]) == {
        *(("cluster.x-k8s.io", "machinesets", "", verb) for verb in made),
        ("cluster.x-k8s.io", "machinesets/status", "", "update"),
        ("cluster.x-k8s.io", "clusters", "", "get"),
        *(("infrastructure.cluster.x-k8s.io", "openstackmachinetemplates", "", verb) for verb in made),
    }


def test_edits_of_mirrors_are_denied_unless_that_was_chosen() -> None:
    for chosen, count in ({}, 3), ({"denyEdits": False}, 0):
        rendered = _render(servers={"enabled": True}, machines={**MACHINES, **chosen})
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
            made = [one["metadata"]["name"] for one in _of(kind, rendered)]
            assert len([name for name in made if "-machines-" in name]) == count


@pytest.mark.parametrize(
    ("setting", "field", "containers", "default", "other"),
    [
        (
            "leaseDurationSeconds",
            "lease_duration",
            ("core", "helmbundle", "health", "secrets", "node"),
            15,
            60,
        ),
        ("chartPullSeconds", "chart_pull", ("core", "helmbundle"), 120, 600),
        ("openstackObserveSeconds", "observe_every", ("node",), 10, 60),
        ("uninstallSeconds", "uninstall_within", ("helmbundle",), 600, 3600),
        ("progressDeadlineSeconds", "progress_deadline", ("health",), 600, 1800),
    ],
)
def test_times_that_depend_on_the_site_are_settings(
    setting: str, field: str, containers: tuple[str, ...], default: int, other: int
) -> None:
    for settings, seconds in (({}, default), ({setting: other}, other)):
        pod = {one["name"]: one for one in _pod(settings=settings)["containers"]}
        for name in containers:
            assert getattr(read_settings(_environment(pod[name])), field) == seconds


def test_what_helm_may_take_is_a_setting_of_helmbundle_and_bounded_by_its_limit() -> None:
    for container in _pod(settings={"helmMemoryMiB": 700})["containers"]:
        limits = [entry["valueFrom"] for entry in container["env"] if entry["name"] == "MEMORY_LIMIT"]
        of_helm = container["name"] == "helmbundle"
        settings = read_settings(
            {**_environment(container), **({"MEMORY_LIMIT": str(2**31)} if of_helm else {})}
        )
        assert limits == ([{"resourceFieldRef": {"resource": "limits.memory"}}] if of_helm else [])
        assert settings.helm_memory == (700 if of_helm else 512) * MIB
        assert settings.helm_memory_together == (2048 - 384) * MIB * of_helm


def test_the_pod_shows_a_container_who_it_is() -> None:
    [container, *_] = _pod()["containers"]
    fields = {entry["name"]: entry["valueFrom"] for entry in container["env"] if "valueFrom" in entry}
    assert fields == {
        "POD_NAME": {"fieldRef": {"fieldPath": "metadata.name"}},
        "POD_NAMESPACE": {"fieldRef": {"fieldPath": "metadata.namespace"}},
    }


def test_the_region_has_a_namespace_of_its_own_unless_said_otherwise() -> None:
    for region, namespace in (({}, "openstack"), ({"namespace": ""}, "controllers")):
        assert _environment(_pod(region=region)["containers"][0])["REGION_NAMESPACE"] == namespace


def test_the_account_is_in_no_namespace_in_which_something_is_rendered() -> None:
    rendered = _render()
    [account] = [one for one in _of("ServiceAccount", rendered) if one["metadata"]["name"] == "osctl"]
    assert account["metadata"]["namespace"] == "controllers"
    for role in _of("Role", rendered):
        for rule in role["rules"]:
            if {"pods", "secrets"} & set(rule["resources"]) and not rule.get("resourceNames"):
                assert role["metadata"]["namespace"] == "openstack"


def test_what_reaches_the_pod_are_probes_and_scrapes() -> None:
    [policy] = _of("NetworkPolicy", _render())
    [pod] = [one["spec"]["template"] for one in _of("Deployment", _render())]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    [rule] = policy["spec"]["ingress"]
    ports = {port["name"] for one in pod["spec"]["containers"] for port in one["ports"]}
    assert {port["port"] for port in rule["ports"]} == ports and "from" not in rule


def test_what_reaches_the_pod_and_what_it_reaches_can_be_narrowed_or_left_to_others() -> None:
    monitoring = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
    given = {"from": [monitoring], "egress": [{"ports": [{"port": 443}]}]}
    [policy] = _of("NetworkPolicy", _render(networkPolicy=given))
    assert policy["spec"]["ingress"][0]["from"] == [monitoring]
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert policy["spec"]["egress"] == given["egress"]
    assert _of("NetworkPolicy", _render(networkPolicy={"enabled": False})) == []


def test_every_container_is_probed_on_a_port_of_its_own() -> None:
    ports = []
    for container in _pod()["containers"]:
        [port] = container["ports"]
        ports.append(port["containerPort"])
        assert _environment(container)["HEALTH_PORT"] == str(port["containerPort"])
        for probe in ("startupProbe", "livenessProbe"):
            assert container[probe]["httpGet"] == {"path": "/healthz", "port": port["name"]}
        assert len(port["name"]) <= 15
    assert len(set(ports)) == len(CONTAINERS)


@pytest.mark.parametrize(("given", "expected"), [({}, ""), ({"healthAddress": "::"}, "::")], ids=["", "IPv6"])
def test_the_probed_ports_answer_on_every_address_unless_one_is_chosen(
    given: dict[str, str], expected: str
) -> None:
    [deployment] = _of("Deployment", _render(settings=given))
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        assert read_settings(_environment(container)).health_address == expected


def test_a_start_of_two_minutes_is_forgiven() -> None:
    for container in _pod()["containers"]:
        probe = container["startupProbe"]
        assert probe["periodSeconds"] * probe["failureThreshold"] >= 120


def test_no_container_can_do_more_than_run() -> None:
    pod = _pod()
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert [list(volume) for volume in pod["volumes"]] == [["name", "emptyDir"], ["name", "emptyDir"]]


def test_a_container_writes_into_a_place_of_its_own() -> None:
    for container in _pod()["containers"]:
        assert container["volumeMounts"][0] == {
            "name": "tmp",
            "mountPath": "/tmp",
            "subPath": container["name"],
        }
        assert _environment(container)["HOME"] == "/tmp"


def test_those_that_pull_charts_share_what_they_have_pulled() -> None:
    pod = _pod()
    for container in pod["containers"]:
        shared = [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "chart-cache"]
        cache = read_settings(_environment(container)).chart_cache
        assert shared == ([str(cache)] if container["name"] in ("core", "helmbundle") else [])
    [claim] = [
        volume["persistentVolumeClaim"]
        for volume in _pod(chartCache={"existingClaim": "charts"})["volumes"]
        if volume["name"] == "chart-cache"
    ]
    assert claim == {"claimName": "charts"}


def test_every_container_has_requests_and_a_limit_of_memory() -> None:
    for container in _pod()["containers"]:
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]


def test_a_digest_wins_over_a_tag() -> None:
    digest = "sha256:" + "0" * 64
    image = {"repository": "r.example.org/osctl", "tag": "1", "digest": digest}
    assert _pod(image=image)["containers"][0]["image"] == f"r.example.org/osctl@{digest}"
    assert _pod(image={"tag": "1.2.3"})["containers"][0]["image"] == "openstack-controller:1.2.3"


def test_the_secrets_that_pull_for_pods_in_the_regions_namespace_reach_those_who_make_them() -> None:
    for names in ((), ("registry", "mirror.one")):
        pod = _pod(region={"imagePullSecrets": [{"name": name} for name in names]})
        [node] = [one for one in pod["containers"] if one["name"] == "node"]
        assert read_settings(_environment(node)).pod_pull_secrets == names
        assert "imagePullSecrets" not in pod  # those lie in the chart's namespace


def test_what_places_the_pod_reaches_it() -> None:
    given: dict[str, Any] = {
        "imagePullSecrets": [{"name": "registry"}],
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"openstack-control-plane": "enabled"},
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "terminationGracePeriodSeconds": 5,
    }
    pod = _pod(**given)
    lost = pod["tolerations"][1:]
    assert {key: pod[key] for key in given} == {**given, "tolerations": [*given["tolerations"], *lost]}


def test_a_pod_of_a_lost_node_is_replaced_within_half_a_minute() -> None:
    taints = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    assert _pod()["tolerations"] == [
        {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
        for taint in taints
    ]


def test_several_pods_are_on_nodes_of_their_own_and_one_may_be_evicted() -> None:
    rendered = _render(replicas=2)
    [deployment], [budget] = _of("Deployment", rendered), _of("PodDisruptionBudget", rendered)
    labels = deployment["spec"]["selector"]["matchLabels"]
    assert deployment["spec"]["replicas"] == 2 and budget["spec"]["selector"]["matchLabels"] == labels
    template = deployment["spec"]["template"]["spec"]
    [term] = template["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term == {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
    assert all(read_settings(_environment(one)).standby for one in template["containers"])


def test_one_pod_has_no_budget_and_no_standby() -> None:
    assert not _of("PodDisruptionBudget", _render()) and "affinity" not in _pod()
    assert not any(read_settings(_environment(one)).standby for one in _pod()["containers"])


def test_charts_and_values_of_ones_own_reach_every_container() -> None:
    given = {
        "paths": {"charts": "/data/charts", "values": "/data/values"},
        "extraVolumes": [{"name": "data", "configMap": {"name": "data"}}],
        "extraVolumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    for container in _pod(**given)["containers"]:
        assert _environment(container)["CHARTS_DIR"] == "/data/charts"
        assert _environment(container)["VALUES_DIR"] == "/data/values"
        assert {"name": "data", "mountPath": "/data"} in container["volumeMounts"]


def test_every_object_shows_what_it_belongs_to() -> None:
    for obj in _render():
        assert obj["metadata"]["labels"]["app.kubernetes.io/name"] == "openstack-controller"


def test_the_regions_namespace_is_made_and_kept() -> None:
    assert _of("Namespace", _render(region={"createNamespace": False})) == []
    assert _of("Namespace", _render(region={"namespace": "controllers"})) == []
    [namespace] = _of("Namespace", _render())
    assert namespace["metadata"]["name"] == "openstack"
    assert namespace["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_no_right_is_a_wildcard_or_makes_more_rights() -> None:
    everything = granted(_render())
    assert everything
    for group, resource, name, verb in everything:
        assert "*" not in group + resource + name + verb
        named = (verb == "bind" and name) or (verb, resource, name) == CHARTS_ACCOUNT
        assert verb not in FORBIDDEN_VERBS or named, (resource, verb)


def test_no_right_reaches_into_pods_or_poses_as_another() -> None:
    resources = {resource for _, resource, _, _ in granted(_render())}
    assert not resources & {
        "pods/exec",
        "pods/attach",
        "pods/portforward",
        "serviceaccounts/token",
        "nodes/proxy",
    }


CLUSTER_WIDE = {
    # Finalizers come off also when the Roles have gone with the namespace; a policy bounds the rest.
    ("osctl.dev", "openstackdeployments"): {"get", "list", "watch", "patch"},
    ("osctl.dev", "helmbundles"): {"get", "list", "watch", "patch"},
    ("", "nodes"): {"get", "list", "watch", "patch"},
    ("osctl.dev", "computemaintenances"): {"get", "list", "watch", "create", "patch", "delete"},
    ("osctl.dev", "computemaintenances/status"): {"patch"},
}


def test_in_the_whole_cluster_nodes_their_maintenances_and_finalizers_are_served_and_nothing_else() -> None:
    rendered = _render(rbac={"upstream": {"sets": []}})
    cluster = granted(obj for obj in rendered if obj["kind"] == "ClusterRole")
    assert cluster == {
        (group, resource, "", verb) for (group, resource), verbs in CLUSTER_WIDE.items() for verb in verbs
    } | {("", "namespaces", "openstack", "get")}


def test_rights_are_bound_to_the_account_of_the_containers_and_to_that_of_charts() -> None:
    rendered = _render(region={"namespace": "openstack"})
    bindings = [obj for obj in rendered if obj["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    ours = {"kind": "ServiceAccount", "name": "osctl", "namespace": "controllers"}
    charts = {"kind": "ServiceAccount", "name": "osctl-charts", "namespace": "openstack"}
    backups = {"kind": "ServiceAccount", "name": "osctl-backup", "namespace": "openstack"}
    for binding in bindings:
        held = charts if binding["metadata"]["name"].endswith("osctl-charts") else ours
        held = backups if binding["metadata"]["name"] == "osctl-backup" else held
        assert binding["subjects"] == [held], binding["metadata"]["name"]
    roles = {(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in _of("Role", rendered)}
    assert roles == {
        ("openstack", "osctl-leases"), ("openstack", "osctl-region"), ("openstack", "osctl-charts"),
        *(("openstack", f"osctl-{name}") for name in CONTAINERS),
        ("openstack", "osctl-backup"),
        ("controllers", "osctl-own"), ("default", "controllers-osctl-node-events"),
    }  # fmt: skip
    bound = {(obj["metadata"]["namespace"], obj["roleRef"]["name"]) for obj in _of("RoleBinding", rendered)}
    assert bound == roles


def _held(rendered: list[dict[str, Any]], account: str) -> frozenset[tuple[str, str, str, str]]:
    """What is bound to this account, wherever."""
    roles = {
        (obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]): obj for obj in rendered
    }
    bound = [one for one in rendered if one["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    return granted(
        roles[one["roleRef"]["kind"], one["metadata"].get("namespace"), one["roleRef"]["name"]]
        for one in bound
        if account in [subject["name"] for subject in one["subjects"]]
    )


def test_charts_hold_nothing_of_ours_and_nothing_beyond_the_regions_namespace() -> None:
    everything: dict[str, Any] = {
        "servers": {"enabled": True, "namespaces": ["team"]},
        "ceph": {"namespaces": [{"name": "rook-ceph", "rookObjects": True}]},
        "exchange": {"namespaces": [{"name": "directory", "offers": ["ldap-bind"]}]},
        "machines": {"enabled": True, "cluster": "one"},
    }
    rendered = _render(**everything)
    held = _held(rendered, "osctl-charts")
    assert ("", "secrets", "", "get") in held and ("apps", "deployments", "", "create") in held
    assert not {group for group, *_ in held} & {"osctl.dev", "coordination.k8s.io"}
    assert not {verb for *_, verb in held} & {"impersonate", "escalate"}
    places = {
        one["metadata"].get("namespace")
        for one in _of("RoleBinding", rendered)
        if one["subjects"][0]["name"] == "osctl-charts"
    }
    assert places == {"openstack"}


def test_the_containers_hold_nothing_that_only_charts_need() -> None:
    held = _held(_render(), "osctl")
    assert not {group for group, *_ in held} & {
        "rbac.authorization.k8s.io", "networking.k8s.io", "gateway.networking.k8s.io", "cert-manager.io",
        "discovery.k8s.io", "extensions", "autoscaling",
    }  # fmt: skip
    made = {(resource, verb) for _, resource, _, verb in held if verb in ("create", "delete")}
    assert not {resource for resource, _ in made} & {
        "deployments", "statefulsets", "daemonsets", "services", "serviceaccounts",
    }  # fmt: skip
    # core claims the volume of backups, and deletes none.
    assert ("persistentvolumeclaims", "delete") not in made
    assert ("jobs", "delete") not in made
    impersonated = {(resource, name) for _, resource, name, verb in held if verb == "impersonate"}
    assert impersonated == {("serviceaccounts", "osctl-charts")}


def test_helm_acts_as_the_account_that_holds_the_rights_of_charts() -> None:
    for given, name in (({}, "osctl-charts"), ({"name": "charts"}, "charts")):
        rendered = _render(chartsServiceAccount=given)
        [account] = [
            one
            for one in _of("ServiceAccount", rendered)
            if one["metadata"]["namespace"] == "openstack" and one["metadata"]["name"] != "osctl-backup"
        ]
        assert account["metadata"]["name"] == name
        for container in _pod(chartsServiceAccount=given)["containers"]:
            expected = name if container["name"] == "helmbundle" else ""
            assert read_settings(_environment(container)).charts_service_account == expected
        assert ("apps", "deployments", "", "create") in _held(rendered, name)
        assert ("", "serviceaccounts", name, "impersonate") in _held(rendered, "osctl")


def test_in_its_own_namespace_the_controller_has_the_key_of_its_region_and_nothing_else() -> None:
    rendered = _render(region={"namespace": "somewhere"})
    roles = [one for one in _of("Role", rendered) if one["metadata"]["namespace"] == "controllers"]
    name = SEALING_KEY_SECRET.format(region="somewhere")
    assert granted(roles) == {("", "secrets", name, verb) for verb in ("get", "create", "patch")}


def test_without_helmbundle_there_is_no_account_of_charts() -> None:
    rendered = _render(containers={"helmbundle": {"enabled": False}})
    names = {one["metadata"]["name"] for one in _of("ServiceAccount", rendered)}
    assert names == {"osctl", "osctl-backup"}
    assert not _held(rendered, "osctl-charts")
    assert "impersonate" not in {verb for *_, verb in _held(rendered, "osctl")}


def _in_ceph(**place: Any) -> set[tuple[str, str, str, str]]:
    rendered = _render(ceph={"namespaces": [{"name": "rook-ceph", **place}]})
    roles = [one for one in _of("Role", rendered) if one["metadata"]["namespace"] == "rook-ceph"]
    bindings = [one for one in _of("RoleBinding", rendered) if one["metadata"]["namespace"] == "rook-ceph"]
    assert [one["roleRef"]["name"] for one in bindings] == [one["metadata"]["name"] for one in roles]
    assert len(roles) == 1
    return granted(roles)


def test_a_namespace_of_ceph_is_read_by_names_and_only_the_request_is_written_there() -> None:
    given = _in_ceph(secrets=["rook-ceph-client-disks"])
    read = {name for _, resource, name, verb in given if (resource, verb) == ("secrets", "get")}
    assert {"rook-ceph-mon", "rook-ceph-client-cinder", "rook-ceph-client-disks", "openstack-ceph"} <= read
    assert "" not in read and "rook-ceph-admin-keyring" not in read
    written = {(resource, name, verb) for _, resource, name, verb in given if verb != "get"}
    assert written == {
        ("secrets", "openstack-ceph-request", "update"),
        ("secrets", "openstack-rgw-keystone", "update"),
        ("secrets", "", "create"),
    }


def test_rooks_objects_may_be_made_where_the_values_say_so() -> None:
    more = _in_ceph(rookObjects=True) - _in_ceph()
    assert {(group, verb) for group, _, _, verb in more} == {
        ("ceph.rook.io", verb) for verb in ("get", "create", "patch")
    }
    assert {resource for _, resource, _, _ in more} == {"cephblockpools", "cephclients"}


def test_a_namespace_of_an_exchange_is_read_and_written_by_names_and_nothing_is_made_there() -> None:
    place = {"name": "directory", "offers": ["ldap-bind"], "requests": ["openstack-reader"]}
    rendered = _render(exchange={"namespaces": [place]})
    roles = [one for one in _of("Role", rendered) if one["metadata"]["namespace"] == "directory"]
    assert granted(roles) == {
        ("", "secrets", "ldap-bind", "get"),
        ("", "secrets", "openstack-reader", "get"),
        ("", "secrets", "openstack-reader", "update"),
    }


def test_a_namespace_that_is_named_twice_in_an_exchange_has_one_role_with_all_of_both() -> None:
    places = [
        {"name": "directory", "offers": ["ldap-bind"]},
        {"name": "other", "offers": ["key"]},
        {"name": "directory", "offers": ["ldap-bind", "licence"], "requests": ["openstack-reader"]},
    ]
    rendered = _render(exchange={"namespaces": places})
    for kind in ("Role", "RoleBinding"):
        found = [one["metadata"]["namespace"] for one in _of(kind, rendered)]
        assert (found.count("directory"), found.count("other")) == (1, 1)
    [role] = [one for one in _of("Role", rendered) if one["metadata"]["namespace"] == "directory"]
    assert [rule["resourceNames"] for rule in role["rules"]] == [
        ["ldap-bind", "licence"],
        ["openstack-reader"],
    ]


def test_a_namespace_that_is_named_twice_for_ceph_has_one_role_with_all_of_both() -> None:
    both = [
        {"name": "rook-ceph", "secrets": ["rook-ceph-client-disks"]},
        {"name": "rook-ceph", "rookObjects": True, "secrets": ["offer"]},
    ]
    rendered = _render(ceph={"namespaces": both})
    for kind in ("Role", "RoleBinding"):
        assert [one["metadata"]["namespace"] for one in _of(kind, rendered)].count("rook-ceph") == 1
    roles = [one for one in _of("Role", rendered) if one["metadata"]["namespace"] == "rook-ceph"]
    assert granted(roles) == _in_ceph(rookObjects=True, secrets=["rook-ceph-client-disks", "offer"])


def test_leases_can_be_written_by_their_names_only() -> None:
    leases = {(name, verb) for _, resource, name, verb in granted(_render()) if resource == "leases"}
    assert {verb for name, verb in leases if not name} == {"create"}
    assert {name for name, _ in leases if name} == {f"osctl-{name}" for name in CONTAINERS}


def test_roles_can_be_left_to_someone_else() -> None:
    kinds = {
        obj["kind"]
        for obj in _render(
            rbac={"create": False},
            serviceAccount={"create": False, "name": "x"},
            chartsServiceAccount={"create": False, "name": "y"},
        )
        if not obj["kind"].startswith("ValidatingAdmissionPolicy")
    }
    assert kinds == {"Deployment", "Namespace", "NetworkPolicy"}


def test_the_account_mounts_no_token_by_itself() -> None:
    accounts = _of("ServiceAccount", _render())
    assert [one["automountServiceAccountToken"] for one in accounts] == [False] * 3
    assert _pod()["automountServiceAccountToken"] is True


@pytest.mark.slow
def test_the_rules_of_the_shipped_charts_are_held_as_their_union() -> None:
    assert DEFAULTS["rbac"]["charts"]["rules"] == chart_rules(), "run `make rbac`"


@pytest.mark.slow
def test_what_the_shipped_charts_grant_is_held() -> None:
    held = _held(_render(), "osctl-charts")
    for chart in service_charts():
        missing = {
            (group, resource, name, verb)
            for group, resource, name, verb in granted(objects(chart))
            if not {(group, resource, name, verb), (group, resource, "", verb)} & held
        }
        assert missing == set(), chart


@pytest.mark.slow
def test_helm_may_make_every_kind_that_the_shipped_charts_make() -> None:
    listed = {
        (entry["apiGroup"], resource)
        for entry in DEFAULTS["rbac"]["helm"]["resources"]
        for resource in entry["resources"]
    }
    made = {
        (obj["apiVersion"].rpartition("/")[0], resource_of(obj).plural)
        for chart in service_charts()
        for obj in objects(chart)
    }
    assert made - listed == set()


def test_the_region_has_all_charts_that_we_ship() -> None:
    assert len(service_charts()) >= 10


@pytest.mark.parametrize(
    "values",
    [
        {"bogus": 1},
        {"image": {"pullPolicy": "Sometimes"}},
        {"image": {"digest": "sha256:abc"}},
        {"containers": {"core": {"enabled": "yes"}}},
        {"containers": {"scheduler": {"enabled": True, "env": [], "resources": {}}}},
        {"containers": {name: {"enabled": False} for name in CONTAINERS}},
        {"settings": {"helmConcurrency": 0}},
        {"settings": {"firstHealthPort": 80}},
        {"region": {"namespace": "Open Stack"}},
        {"paths": {"charts": "charts"}},
        {"rbac": {"helm": {"verbs": ["*"]}}},
        {"rbac": {"helm": {"verbs": ["escalate"]}}},
        {"rbac": {"helm": {"resources": [{"apiGroup": "*", "resources": ["pods"]}]}}},
        {"rbac": {"extraRules": [{"apiGroups": [""], "resources": ["*"], "verbs": ["get"]}]}},
        {"rbac": {"extraRules": [{"apiGroups": [""], "resources": ["roles"], "verbs": ["bind"]}]}},
        {"rbac": {"extraRules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]}},
    ],
    ids=str,
)
def test_values_that_cannot_be_meant_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(HelmError, match="don't meet the specifications of the schema"):
        CHART.render(values, name="osctl", namespace="controllers")


def test_every_value_is_known_to_the_schema_and_to_a_template() -> None:
    templates = "".join(path.read_text() for path in (CONTROLLER_CHART / "templates").iterdir())
    for path in _leaves(DEFAULTS):
        # what a container has is reached through a variable, as is what older values do not have
        whole = path[0] not in ("containers", "servers", "chartsServiceAccount") and "policies" not in path
        name = ".".join(path) if whole else path[-1]
        assert re.search(rf"\.{re.escape(name)}\b", templates), ".".join(path)


def _leaves(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for key, value in tree.items():
        whole = (path[:1] == ("containers",) and len(path) == 2) or path[:1] == ("servers",)
        opaque = key in ("podSecurityContext", "securityContext")
        if isinstance(value, dict) and value and not opaque and not whole:
            found += _leaves(value, (*path, key))
        else:
            found.append((*path, key))
    return found


def test_backups_may_read_what_they_contain_and_write_nothing() -> None:
    held = _held(_render(), "osctl-backup")
    assert held == {
        ("", "secrets", "", "list"),
        ("osctl.dev", "openstackdeployments", "", "get"),
        ("osctl.dev", "helmbundles", "", "list"),
    }
    assert not _held(_render(containers={"core": {"enabled": False}}), "osctl-backup")
