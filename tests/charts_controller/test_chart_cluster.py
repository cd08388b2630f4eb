"""Our chart on a real API server: what its account may do, and what stays when the chart goes."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pykube
import pytest
import yaml

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.credentials.x509.read import AuthorityUnusable
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from controller.reconcile.shared.installation_key import InstallationKey
from controller.reconcile.shared.leases.lease import WriterLease
from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.patience import patient
from sandbox.take_down import take_down
from tests.api.definitions import CRDS, osdpl
from tests.cluster.region import wait_until
from tools.chart_objects import CONTROLLER_CHART, objects, service_charts

pytestmark = pytest.mark.cluster
EVERYTHING = ("get", "list", "watch", "create", "update", "patch", "delete")
EVERYTHING_BUT_UPDATE = tuple(verb for verb in EVERYTHING if verb != "update")


def _helm(sandbox: Sandbox, namespace: str, *arguments: str) -> str:
    command = [
        str(sandbox.helm),
        "--kubeconfig",
        str(sandbox.kubeconfig),
        "--namespace",
        namespace,
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patient(300), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Account:
    """The chart's account in an installation of the chart: region and controller apart."""

    def __init__(
        self, sandbox: Sandbox, namespace: str, region: str, directory: Path, *, team: str = ""
    ) -> None:
        """`team`: another namespace whose OpenStackServers are served."""
        self.sandbox, self.namespace, self.region, self.team = sandbox, namespace, region, team
        self.name = f"osctl-{namespace}"
        self._api = pykube.HTTPClient(connect(sandbox.kubeconfig).config, timeout=120)
        settings = f"region.namespace={region},crds.install=false"
        if team:
            settings += f",servers.enabled=true,servers.namespaces={{{team}}}"
        _helm(sandbox, namespace, "install", self.name, str(CONTROLLER_CHART), "--set", settings)
        self.kubeconfig = sandbox.service_account_kubeconfig(namespace, self.name, directory)
        # The API server itself learns of each role and each binding by a watch.
        wait_until("the rights count", self._may_begin, 120)

    def _may_begin(self) -> bool:
        """Something of every role."""
        return (
            self.may("list", "nodes")
            and self.may("create", "leases.coordination.k8s.io", self.region)
            and self.may("list", "openstackdeployments.osctl.dev", self.region)
            and self.may("list", "secrets", self.region)
            and self.may("list", "secrets", self.region, user=self.charts)
            and (not self.team or self.may("list", "openstackservers.osctl.dev", self.team))
        )

    @property
    def charts(self) -> str:
        """The account that charts act as, as the API server names it."""
        return f"system:serviceaccount:{self.region}:{self.name}-charts"

    def may(self, verb: str, resource: str, namespace: str = "", name: str = "", *, user: str = "") -> bool:
        """What the API server answers when it is asked about the account, or about another user."""
        plural, _, group = resource.partition(".")
        plural, _, subresource = plural.partition("/")
        attributes = {
            "verb": verb, "group": group, "resource": plural, "subresource": subresource,
            "namespace": namespace, "name": name,
        }  # fmt: skip
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": user or f"system:serviceaccount:{self.namespace}:{self.name}",
                "groups": ["system:serviceaccounts", "system:authenticated"],
                "resourceAttributes": attributes,
            },
        }
        answer = self._api.post(
            version="authorization.k8s.io/v1", url="subjectaccessreviews", data=json.dumps(review)
        )
        return bool(answer.json()["status"]["allowed"])

    def create(self, obj: Mapping[str, Any]) -> str:
        """Asks the server, as charts do, to create the object in the region; why not, or nothing."""
        connection = connect(self.kubeconfig)
        assert connection.token_file is not None
        connection.config.user["token"] = connection.token_file.read()
        api = pykube.HTTPClient(connection.config, timeout=120)
        plural = f"{obj['kind'].lower()}s"
        placed = {**obj, "metadata": {**obj["metadata"], "namespace": self.region}}
        answer = api.post(
            version=obj["apiVersion"],
            namespace=self.region,
            url=plural,
            params={"dryRun": "All"},
            headers={"Impersonate-User": self.charts},
            data=json.dumps(placed),
        )
        return "" if answer.status_code == 201 else str(answer.json()["message"])


@contextmanager
def _installed(sandbox: Sandbox, directory: Path, *parts: str) -> Iterator[Account]:
    """In namespaces of its own: that of the controller, of the region and, where named, of a team."""
    own, region, *team = names = [f"test-{secrets.token_hex(4)}-{part}" for part in parts]
    for name in names:
        sandbox.create_namespace(name, {})
    installed = Account(sandbox, own, region, directory, team=next(iter(team), ""))
    try:
        yield installed
    finally:
        _helm(sandbox, own, "uninstall", installed.name, "--ignore-not-found")
        sandbox.kubectl("delete", "namespace", *names, "--wait=false", "--ignore-not-found")


@pytest.fixture(scope="module")
def account(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    with _installed(sandbox, tmp_path_factory.mktemp("account"), "controller", "region") as installed:
        yield installed


@pytest.fixture(scope="module")
def serving(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """With `servers.enabled`, for the region and a team."""
    parts = ("controller", "region", "team")
    with _installed(sandbox, tmp_path_factory.mktemp("serving"), *parts) as installed:
        yield installed


def test_the_linter_has_nothing_to_say(sandbox: Sandbox) -> None:
    assert "0 chart(s) failed" in _helm(sandbox, "default", "lint", "--strict", str(CONTROLLER_CHART))


@pytest.mark.parametrize(
    ("resource", "verbs"),
    [
        ("openstackdeployments.osctl.dev", ("get", "list", "watch", "patch")),
        ("openstackdeployments/status.osctl.dev", ("patch",)),
        ("helmbundles.osctl.dev", ("get", "list", "watch", "create", "patch", "delete")),
        ("helmbundles/status.osctl.dev", ("patch",)),
        ("secrets", ("get", "list", "create", "update", "patch", "delete")),
        ("configmaps", ("get", "list", "create", "update", "patch", "delete")),
        ("statefulsets.apps", ("list", "watch")),
        ("jobs.batch", ("get", "list", "watch", "create")),
        ("poddisruptionbudgets.policy", ("get", "list", "create", "update", "patch", "delete")),
        ("pods", EVERYTHING_BUT_UPDATE),
        ("pods/log", ("get",)),
        ("events", ("get", "list", "create", "patch")),
    ],
)
def test_in_the_region_the_account_may_do_its_work(
    account: Account, resource: str, verbs: tuple[str, ...]
) -> None:
    assert [verb for verb in verbs if not account.may(verb, resource, account.region)] == []


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("create", "openstackdeployments.osctl.dev"),
        ("update", "openstackdeployments.osctl.dev"),
        ("delete", "openstackdeployments.osctl.dev"),
        ("update", "openstackdeployments/status.osctl.dev"),
        ("update", "helmbundles.osctl.dev"),
        ("update", "helmbundles/status.osctl.dev"),
        ("watch", "events"),
        ("update", "events"),
        ("create", "events.events.k8s.io"),
        ("deletecollection", "secrets"),
        ("create", "pods/exec"),
        ("create", "serviceaccounts/token"),
        ("impersonate", "serviceaccounts"),
        ("escalate", "roles.rbac.authorization.k8s.io"),
        ("bind", "roles.rbac.authorization.k8s.io"),
        ("get", "roles.rbac.authorization.k8s.io"),
        ("create", "serviceaccounts"),
        ("create", "deployments.apps"),
        ("delete", "persistentvolumeclaims"),
        ("delete", "jobs.batch"),
        ("list", "horizontalpodautoscalers.autoscaling"),
        ("get", "namespaces"),
    ],
)
def test_in_the_region_the_account_may_do_no_more(account: Account, verb: str, resource: str) -> None:
    assert not account.may(verb, resource, account.region)


@pytest.mark.parametrize(
    ("resource", "verbs"),
    [
        ("secrets", EVERYTHING),
        ("configmaps", EVERYTHING),
        ("statefulsets.apps", EVERYTHING),
        ("jobs.batch", EVERYTHING),
        ("roles.rbac.authorization.k8s.io", EVERYTHING),
        ("poddisruptionbudgets.policy", EVERYTHING),
        ("horizontalpodautoscalers.autoscaling", ("list",)),
    ],
)
def test_in_the_region_charts_may_make_what_they_are_made_of(
    account: Account, resource: str, verbs: tuple[str, ...]
) -> None:
    assert [
        verb for verb in verbs if not account.may(verb, resource, account.region, user=account.charts)
    ] == []


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("get", "openstackdeployments.osctl.dev"),
        ("get", "helmbundles.osctl.dev"),
        ("create", "helmbundles.osctl.dev"),
        ("patch", "helmbundles/status.osctl.dev"),
        ("get", "leases.coordination.k8s.io"),
        ("create", "leases.coordination.k8s.io"),
        ("create", "events"),
        ("get", "pods/log"),
        ("create", "pods/exec"),
        ("deletecollection", "secrets"),
        ("create", "serviceaccounts/token"),
        ("impersonate", "serviceaccounts"),
        ("escalate", "roles.rbac.authorization.k8s.io"),
        ("bind", "roles.rbac.authorization.k8s.io"),
        ("delete", "endpointslices.discovery.k8s.io"),
        ("patch", "horizontalpodautoscalers.autoscaling"),
        ("get", "namespaces"),
    ],
)
def test_in_the_region_charts_may_do_no_more(account: Account, verb: str, resource: str) -> None:
    assert not account.may(verb, resource, account.region, user=account.charts)


def test_elsewhere_charts_have_no_rights_but_those_that_roles_of_openstack_helm_grant(
    account: Account,
) -> None:
    assert all(account.may(verb, "nodes", user=account.charts) for verb in ("get", "list", "patch"))
    for verb, resource in (
        ("watch", "nodes"),
        ("delete", "nodes"),
        ("get", "computemaintenances.osctl.dev"),
        ("create", "computemaintenances.osctl.dev"),
        ("get", "secrets"),
        ("get", "configmaps"),
        ("create", "clusterroles.rbac.authorization.k8s.io"),
    ):
        assert not account.may(verb, resource, user=account.charts), resource
        assert not account.may(verb, resource, account.namespace, user=account.charts), resource


def test_the_controller_poses_as_the_account_of_charts_and_as_no_other(account: Account) -> None:
    name = f"{account.name}-charts"
    assert account.may("impersonate", "serviceaccounts", account.region, name)
    assert not account.may("impersonate", "serviceaccounts", account.region, "default")
    assert not account.may("impersonate", "serviceaccounts", account.namespace, name)
    assert not account.may("impersonate", "serviceaccounts", "kube-system", name)
    assert not account.may("impersonate", "users", "", "admin")
    assert not account.may("impersonate", "groups", "", "system:masters")


def test_in_the_region_the_account_keeps_its_leases_and_no_others(account: Account) -> None:
    leases = "leases.coordination.k8s.io"
    assert account.may("create", leases, account.region)
    assert account.may("update", leases, account.region, "osctl-core")
    assert not account.may("update", leases, account.region, "someone-elses")
    assert not account.may("patch", leases, account.region, "osctl-core")
    assert not account.may("delete", leases, account.region, "osctl-core")


def test_the_key_that_seals_is_made_there_by_its_name_and_no_other_secret(account: Account) -> None:
    kube = PykubeClient(connect(account.kubeconfig))
    key = SealingKey(kube, SystemRandomness(), account.namespace, account.region)
    stored = key.seal("text")
    again = SealingKey(kube, SystemRandomness(), account.namespace, account.region)
    assert again.open(stored) == "text"
    with pytest.raises(AuthorityUnusable, match="forbidden"):
        SealingKey(kube, SystemRandomness(), account.namespace, "another").seal("text")
    name = f"osctl-authority-key.{account.region}"
    assert not account.may("get", "secrets", account.namespace, name, user=account.charts)


def test_in_its_own_namespace_the_account_has_one_secret_and_no_other_rights(account: Account) -> None:
    assert not account.may("get", "secrets", account.namespace)
    assert not account.may("create", "secrets", account.namespace)
    assert not account.may("create", "leases.coordination.k8s.io", account.namespace)
    assert not account.may("get", "leases.coordination.k8s.io", account.namespace, "osctl-core")


def test_elsewhere_the_account_serves_nodes_and_takes_finalizers_off_and_nothing_else(
    account: Account,
) -> None:
    assert all(account.may(verb, "nodes") for verb in ("get", "list", "watch"))
    for verb, resource in (
        ("update", "nodes"),
        ("delete", "nodes"),
        ("get", "secrets"),
        ("list", "namespaces"),
        ("create", "clusterroles.rbac.authorization.k8s.io"),
        ("patch", "customresourcedefinitions.apiextensions.k8s.io"),
        ("create", "openstackdeployments.osctl.dev"),
        ("delete", "helmbundles.osctl.dev"),
        ("patch", "helmbundles/status.osctl.dev"),
    ):
        assert not account.may(verb, resource), resource
        assert not account.may(verb, resource, "kube-system"), resource


SERVERS = "openstackservers.osctl.dev"
SERVER_STATUS = "openstackservers/status.osctl.dev"


def test_where_servers_are_served_the_account_may_do_that_work(serving: Account) -> None:
    wanted = {SERVERS: ("get", "list", "watch", "patch"), SERVER_STATUS: ("patch",)}
    wanted |= {"secrets": ("get",), "events": ("get", "create", "patch")}
    assert [
        (place, verb, resource)
        for place in (serving.region, serving.team)
        for resource, verbs in wanted.items()
        for verb in verbs
        if not serving.may(verb, resource, place)
    ] == []
    assert serving.may("update", "leases.coordination.k8s.io", serving.region, "osctl-servers")


def test_in_a_namespace_with_served_servers_the_account_may_do_no_more(serving: Account) -> None:
    refused = {SERVERS: ("create", "update", "delete"), SERVER_STATUS: ("update",), "pods": ("list",)}
    refused |= {"secrets": ("list", "watch", "create", "update", "patch", "delete"), "configmaps": ("get",)}
    refused |= {"leases.coordination.k8s.io": ("get", "create", "update"), "events": ("list", "delete")}
    assert [
        (verb, resource)
        for resource, verbs in refused.items()
        for verb in verbs
        if serving.may(verb, resource, serving.team)
    ] == []
    assert [
        verb for verb in ("create", "update", "delete") if serving.may(verb, SERVERS, serving.region)
    ] == []
    assert not serving.may("get", SERVERS) and not serving.may("get", SERVERS, serving.namespace)


def test_where_servers_are_not_served_the_account_sees_none(account: Account) -> None:
    assert not account.may("get", SERVERS, account.region)


def test_with_the_region_elsewhere_leases_and_the_installation_key_are_kept_there(account: Account) -> None:
    kube, region = PykubeClient(connect(account.kubeconfig)), account.region
    lease = WriterLease(kube, SystemClock(), name="osctl-core", namespace=region, holder="pod-a")
    assert lease.try_take() and lease.try_take()
    key = InstallationKey(kube, SystemRandomness(), region).read()
    assert InstallationKey(kube, SystemRandomness(), region).read() == key


def test_charts_can_grant_what_they_grant(account: Account) -> None:
    roles = [obj for chart in service_charts() for obj in objects(chart) if obj["kind"] == "Role"]
    assert roles
    for role in {json.dumps(role["rules"]): role for role in roles}.values():
        assert account.create(role) == ""


@pytest.mark.parametrize("verb", ["create", "*", "escalate"])
def test_charts_cannot_grant_what_they_do_not_hold(account: Account, verb: str) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "more"},
        "rules": [{"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": [verb]}],
    }
    assert "attempting to grant RBAC permissions not currently held" in account.create(role)


def _applied(sandbox: Sandbox, obj: Mapping[str, Any]) -> bool:
    """False while kubectl does not find the object's kind: that comes some time after its definition."""
    try:
        sandbox.kubectl("apply", "-f", "-", input=yaml.safe_dump(obj))
    except SandboxError as error:
        if "no matches for kind" in str(error) or "could not find the requested resource" in str(error):
            return False
        raise
    return True


@pytest.fixture(scope="module")
def empty_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    """A control plane of its own, with a namespace for the controller, and no definition of ours yet."""
    if request.config.getoption("existing_cluster") is not None:
        pytest.skip("the test deletes definitions: not on an existing cluster")
    name = f"private-{secrets.token_hex(3)}"
    directory = tmp_path_factory.mktemp("sandbox") / name
    try:
        box = Sandbox.up(name, directory, private=True)
        box.create_namespace("openstack", {})
        yield box
    finally:
        take_down(name, directory)


@pytest.mark.xdist_group("chart-life")
def test_definitions_and_region_outlive_the_chart_and_are_taken_up_again(empty_cluster: Sandbox) -> None:
    install = ("upgrade", "--install", "osctl", str(CONTROLLER_CHART))
    _helm(empty_cluster, "openstack", *install)
    empty_cluster.kubectl("wait", "--for=condition=Established", "--timeout=500s", "-f", str(CRDS))
    wait_until("the kind is served", lambda: _applied(empty_cluster, osdpl()), 120)
    _helm(empty_cluster, "openstack", "uninstall", "osctl")
    kept = empty_cluster.kubectl("-n", "openstack", "get", "osdpl", "-o", "name")
    assert kept.strip() == "openstackdeployment.osctl.dev/region-one"
    with pytest.raises(SandboxError, match="not found"):
        empty_cluster.kubectl("-n", "openstack", "get", "deployment", "osctl")
    _helm(empty_cluster, "openstack", *install)
    empty_cluster.kubectl("-n", "openstack", "get", "deployment", "osctl")


@pytest.mark.xdist_group("chart-life")
def test_an_upgrade_of_the_chart_upgrades_the_definitions(empty_cluster: Sandbox, tmp_path: Path) -> None:
    older = tmp_path / "openstack-controller"
    subprocess.run(["cp", "-r", str(CONTROLLER_CHART), str(older)], check=True)
    path = older / "files" / "crds" / "helmbundles.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("shortNames: [hb]", "shortNames: [older]"))
    for chart, short in ((older, "older"), (CONTROLLER_CHART, "hb")):
        _helm(empty_cluster, "openstack", "upgrade", "--install", "osctl", str(chart))
        definition = json.loads(empty_cluster.kubectl("get", "crd", "helmbundles.osctl.dev", "-o", "json"))
        assert definition["spec"]["names"]["shortNames"] == [short]
