"""What is made of Helm's texts: errors with a meaning, and manifests as objects."""

from __future__ import annotations

import pytest

from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.failures import LONGEST_MESSAGE, failure
from controller.adapters.helm.manifests import parse_manifests
from controller.errors import (
    ApiUnavailable,
    ChartInvalid,
    HelmFailed,
    KindMissing,
    ReleaseMissing,
    RightMissing,
)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Kubernetes cluster unreachable: Get https://x: dial tcp: connection refused", ApiUnavailable),
        ("uninstall: Release not loaded: web: release: not found", ReleaseMissing),
        ('"web" has no deployed releases', ReleaseMissing),
        ("execution error at (web/templates/a.yaml:3:4): no", ChartInvalid),
        ("failed post-install: resource Job/a/b not ready. status: Failed", HelmFailed),
        ("failed pre-install: Hook pre-install a.yaml failed: template: connection refused", HelmFailed),
        ("", HelmFailed),
    ],
)
def test_a_text_gets_its_meaning(text: str, meaning: type[Exception]) -> None:
    assert type(failure(text, "/charts/web")) is meaning


LOST_ON_THE_WAY = (
    'update: failed to update: Put "https://x/api/v1/namespaces/a/secrets/b": EOF',
    'server-side apply failed for object a/b batch/v1, Kind=Job: Patch "https://x": unexpected EOF',
    "failed pre-install: Internal error occurred: etcdserver: leader changed",
    "query: failed to query with labels: Too many requests, please try again later.",
    'Get "https://x": dial tcp 10.0.0.1:443: i/o timeout',
    "http2: client connection lost",
)
OF_THE_RELEASE = (
    "failed post-install: resource Job/a/b not ready. status: Failed",
    "context deadline exceeded",
    'Deployment.apps "GEOFENCE" is invalid: spec.replicas: Invalid value: "eof-1"',
    "",
)


@pytest.mark.parametrize("text", LOST_ON_THE_WAY + OF_THE_RELEASE)
def test_a_lost_request_is_distinguished_from_what_a_release_itself_fails_at(text: str) -> None:
    found = failure(text, "/charts/web")
    assert isinstance(found, HelmFailed)
    assert found.interrupted == (text in LOST_ON_THE_WAY)


ACCOUNT = "system:serviceaccount:openstack:charts"
GRANTING = (
    "failed to create resource: server-side apply failed for object openstack/mariadb-test "
    'rbac.authorization.k8s.io/v1, Kind=Role: roles.rbac.authorization.k8s.io "mariadb-test" is forbidden: '
    f'user "{ACCOUNT}" (groups=["system:serviceaccounts" "system:authenticated"]) is attempting to grant '
    "RBAC permissions not currently held:\n"
    '{APIGroups:["discovery.k8s.io"], Resources:["endpointslices"], Verbs:["get" "list"]}\n'
    '{APIGroups:["discovery.k8s.io"], Resources:["services"], Verbs:["get" "list"]}\n'
    '{APIGroups:[""], Resources:["secrets"], ResourceNames:["keys"], Verbs:["patch"]}'
)
CLUSTER_ROLE = (
    'unable to continue with install: could not get information about the resource ClusterRole "ovn-x" in '
    f'namespace "": clusterroles.rbac.authorization.k8s.io "ovn-x" is forbidden: User "{ACCOUNT}" cannot get '
    'resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope'
)
LISTING = (
    f'jobs.batch is forbidden: User "{ACCOUNT}" cannot list resource "jobs" in API group "batch" '
    'in the namespace "openstack"'
)
CORE_GROUP = (
    f'failed pre-install: secrets "keys" is forbidden: User "{ACCOUNT}" cannot patch resource "secrets" '
    'in API group "" in the namespace "openstack"'
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            GRANTING,
            'roles "mariadb-test" would grant what ServiceAccount openstack/charts does not hold: '
            "patch of secrets keys; get, list of endpointslices.discovery.k8s.io, services.discovery.k8s.io",
        ),
        (
            CLUSTER_ROLE,
            "ServiceAccount openstack/charts may not get clusterroles.rbac.authorization.k8s.io "
            '"ovn-x" in the whole cluster',
        ),
        (LISTING, 'ServiceAccount openstack/charts may not list jobs.batch in namespace "openstack"'),
        (CORE_GROUP, 'ServiceAccount openstack/charts may not patch secrets "keys" in namespace "openstack"'),
    ],
)
def test_a_missing_right_is_reported_in_one_line(text: str, told: str) -> None:
    found = failure(text, "/charts/web")
    assert isinstance(found, RightMissing)
    assert str(found) == told


_UNMAPPED = (
    'resource mapping not found for name: "gateway" namespace: "openstack" from "": no matches for kind '
    '"{}" in version "{}"\nensure CRDs are installed first'
)
UNDEFINED = "unable to build kubernetes objects from release manifest: [{}, {}]".format(
    _UNMAPPED.format("Gateway", "gateway.networking.k8s.io/v1"),
    _UNMAPPED.format("Certificate", "cert-manager.io/v1"),
)


def test_kinds_that_the_cluster_does_not_define_are_reported_with_the_remedy() -> None:
    found = failure(UNDEFINED, "/charts/gateway")
    assert isinstance(found, KindMissing)
    kinds, _, remedies = str(found).partition(": ")
    assert kinds == (
        "the cluster does not define Certificate (cert-manager.io/v1), Gateway (gateway.networking.k8s.io/v1)"
    )
    first, _, second = remedies.partition("; ")
    assert first.startswith("install cert-manager in the cluster, or remove issuer from spec.features.tls")
    assert second.startswith("install the Gateway API in the cluster")


def test_an_undefined_kind_of_others_is_reported_once_however_many_objects_are_of_it() -> None:
    one = 'no matches for kind "Widget" in version "example.org/v1"; '
    assert str(failure(2 * one)).startswith(
        "the cluster does not define Widget (example.org/v1): install its"
    )


def test_a_hook_that_speaks_of_a_kind_is_a_failed_hook() -> None:
    text = 'failed pre-install: Hook pre-install a.yaml failed: no matches for kind "X" in version "y/v1"'
    assert type(failure(text)) is HelmFailed


@pytest.mark.parametrize(
    "text",
    [
        'pods "web" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=4, limited: pods=4',
        'pods "web" is forbidden: violates PodSecurity "restricted:latest": privileged',
        'admission webhook "policy.example.org" denied the request: forbidden',
    ],
)
def test_what_a_quota_or_an_admission_forbids_is_no_missing_right(text: str) -> None:
    assert type(failure(text)) is HelmFailed


@pytest.mark.slow
def test_a_long_text_is_cut() -> None:
    assert len(str(failure("x" * 100_000))) == LONGEST_MESSAGE


def test_scalars_mean_what_they_mean_to_helm() -> None:
    (obj,) = parse_manifests(
        "kind: X\nv: [y, 0o17, 017, 1:30, 2026-01-02, 1e3, .inf, '1', ~, 1_000]\n8080: a\n"
    )

    assert obj["v"] == [True, 15, 15, "1:30", "2026-01-02", 1000, ".inf", "1", None, 1000]
    assert obj["8080"] == "a"


def test_anchors_merges_and_repeated_keys_are_read() -> None:
    (obj,) = parse_manifests("kind: X\na: &a {b: 1}\nc: {<<: *a, d: 2}\ne: 1\ne: 2\n")

    assert obj["c"] == {"b": 1, "d": 2}
    assert obj["e"] == 2


def test_lists_are_taken_apart_and_other_documents_left_out() -> None:
    text = "# comment\n---\n---\njust text\n---\nkind: ConfigMapList\nitems: [{kind: A}, {kind: B}]\n"

    assert [obj["kind"] for obj in parse_manifests(text)] == ["A", "B"]


def test_a_separator_inside_a_text_block_does_not_split() -> None:
    (obj,) = parse_manifests("kind: X\ntext: |\n  a\n  b --- c\n")

    assert obj["text"] == "a\nb --- c\n"


def test_listeners_of_a_token_are_called_once() -> None:
    token, calls = CancellationToken(), []
    token.listen(lambda: calls.append("early"))
    token.cancel()
    token.cancel()
    token.listen(lambda: calls.append("late"))

    assert calls == ["early", "late"]
    assert token.cancelled


def test_why_a_token_was_cancelled_is_what_was_said_first() -> None:
    late, unwanted = CancellationToken(), CancellationToken()
    late.cancel("not done within 60 s")
    late.cancel()
    unwanted.cancel()
    unwanted.cancel("not done within 60 s")

    assert (late.overdue, late.cut) == ("not done within 60 s", "not done within 60 s")
    assert (unwanted.overdue, unwanted.cut) == ("", "cancelled")


def test_a_forgotten_listener_is_not_called() -> None:
    token, calls = CancellationToken(), []

    def listener() -> None:
        calls.append("called")

    token.listen(listener)
    token.forget(listener)
    token.forget(listener)
    token.cancel()

    assert calls == []


def test_a_text_at_the_end_of_a_document_keeps_its_newline_as_helm_sends_it() -> None:
    first, second = parse_manifests("kind: A\ntext: |\n  one\n\n\n---\nkind: B\ntext: |\n  two")
    assert (first["text"], second["text"]) == ("one\n", "two\n")
