"""What is made of Helm's texts: errors with a meaning, and manifests as objects."""

from __future__ import annotations

import pytest

from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.failures import LONGEST_MESSAGE, failure
from controller.adapters.helm.manifests import parse_manifests
from controller.errors import ApiUnavailable, ChartInvalid, HelmFailed, ReleaseMissing


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
def test_a_lost_request_is_told_from_what_a_release_itself_fails_at(text: str) -> None:
    found = failure(text, "/charts/web")
    assert isinstance(found, HelmFailed)
    assert found.interrupted == (text in LOST_ON_THE_WAY)


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
