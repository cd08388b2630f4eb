"""osctl apply, status and wait against an API server in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.cli.cluster import Cluster
from controller.cli.exit_codes import ExitCode
from controller.errors import Forbidden
from controller.ports.kubernetes import OSDPL
from tests.cli.objects import EXAMPLE, ROOT, example_text, osctl
from tests.fakes.kube import FakeKube, Request

CRDS = tuple(
    yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    for path in sorted((ROOT / "charts" / "openstack-controller" / "files" / "crds").glob("*.yaml"))
)


@pytest.fixture
def kube(monkeypatch: pytest.MonkeyPatch) -> FakeKube:
    fake = FakeKube()
    for crd in CRDS:
        fake.serve(crd)

    def open_fake(_: Path | None, __: str, namespace: str) -> Cluster:
        return Cluster(fake, namespace)

    for module in ("commands.apply", "commands.status", "commands.wait", "comparison"):
        monkeypatch.setattr(f"controller.cli.{module}.open_cluster", open_fake)
    return fake


@pytest.mark.slow
def test_apply_creates_then_changes_then_leaves_alone(kube: FakeKube):
    first = osctl("apply", "-f", str(EXAMPLE))
    second = osctl("apply", "-f", "-", input=example_text(size="small"))
    third = osctl("apply", "-f", "-", input=example_text(size="small"))
    words = [result.stdout.split(" ", 1)[1].strip() for result in (first, second, third)]
    assert words == ["created (generation 1)", "changed (generation 2)", "unchanged (generation 2)"]


@pytest.mark.slow
def test_a_mistake_is_reported_before_anything_is_sent(kube: FakeKube):
    result = osctl("apply", "-f", "-", input=example_text(size="huge"))
    assert result.exit_code == 3
    assert "stdin:" in result.stderr
    assert kube.requests == []


@pytest.mark.slow
def test_secrets_are_applied_before_the_region_that_names_them(kube: FakeKube):
    text = example_text() + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: own, namespace: openstack}\n"
    osctl("apply", "-f", "-", input=text)
    assert [request.kind for request in kube.writes] == ["Secret", "OpenStackDeployment"]


@pytest.mark.slow
def test_a_kind_that_is_none_of_a_regions_is_refused_with_its_line(kube: FakeKube):
    text = example_text() + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"
    result = osctl("apply", "-f", "-", input=text)
    assert result.exit_code == 3
    assert 'osctl does not apply "apps/v1 Deployment"' in result.stderr
    assert kube.requests == []


@pytest.mark.slow
def test_a_dry_run_changes_nothing(kube: FakeKube):
    result = osctl("apply", "-f", str(EXAMPLE), "--dry-run", "--wait")
    assert result.exit_code == 0
    assert "(dry run)" in result.stdout
    assert kube.objects() == []


@pytest.mark.slow
def test_the_namespace_of_the_file_may_not_contradict_the_option(kube: FakeKube):
    result = osctl("apply", "-f", str(EXAMPLE), "-n", "elsewhere")
    assert result.exit_code == 3
    assert 'is "openstack", but -n says "elsewhere"' in result.stderr


def test_a_file_without_namespace_goes_where_the_option_says(kube: FakeKube):
    obj = yaml.safe_load(example_text())
    del obj["metadata"]["namespace"]
    osctl("apply", "-f", "-", "-n", "elsewhere", input=yaml.safe_dump(obj))
    assert kube.get(OSDPL, "region-one", "elsewhere") is not None


@pytest.mark.slow
def test_fields_of_another_are_not_taken_over_silently(kube: FakeKube):
    other: dict[str, Any] = yaml.safe_load(example_text(size="small"))
    kube.apply(other, manager="gitops")
    result = osctl("apply", "-f", str(EXAMPLE))
    assert result.exit_code == 6
    assert "--force-conflicts" in result.stderr
    assert osctl("apply", "-f", str(EXAMPLE), "--force-conflicts").exit_code == 0


def test_an_api_error_is_one_line_and_a_code(kube: FakeKube):
    def forbid(_: Request) -> None:
        raise Forbidden("PATCH …: 403 you may not")

    kube.before_write = forbid
    result = osctl("apply", "-f", str(EXAMPLE))
    assert result.exit_code == 6
    assert result.stderr.splitlines()[-1] == "error: PATCH …: 403 you may not"


def test_wait_needs_a_region_to_wait_for(kube: FakeKube):
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: own}\n"
    result = osctl("apply", "-f", "-", "--wait", input=text)
    assert result.exit_code == 3


@pytest.mark.slow
def test_waiting_in_vain_ends_with_its_own_code(kube: FakeKube):
    result = osctl("apply", "-f", str(EXAMPLE), "--wait", "--timeout", "0")
    assert result.exit_code == 4
    assert "not Ready after" in result.stdout


def test_status_finds_the_only_region_in_any_namespace(kube: FakeKube):
    osctl("apply", "-f", str(EXAMPLE))
    result = osctl("status")
    assert result.exit_code == 0
    assert result.stdout.startswith("region-one  2026.1  core/single")


def test_status_of_a_region_that_is_elsewhere_says_where(kube: FakeKube):
    osctl("apply", "-f", str(EXAMPLE))
    result = osctl("status", "region-one", "-n", "default")
    assert result.exit_code == 6
    assert "region-one (-n openstack)" in result.stderr


def test_status_with_several_regions_asks_which(kube: FakeKube):
    osctl("apply", "-f", str(EXAMPLE))
    second = yaml.safe_load(example_text())
    second["metadata"]["name"] = "region-two"
    kube.apply(second, manager="x")
    result = osctl("status")
    assert result.exit_code == 6
    assert "region-one (-n openstack), region-two (-n openstack)" in result.stderr


def test_waiting_for_a_deletion_that_is_done_ends_at_once(kube: FakeKube):
    assert osctl("wait", "region-one", "--for", "deleted").exit_code == 0


@pytest.mark.slow
def test_diff_compares_with_the_cluster(kube: FakeKube):
    osctl("apply", "-f", str(EXAMPLE))
    assert osctl("diff", "-f", str(EXAMPLE), "--no-manifests").exit_code == 0
    assert osctl("diff", "-f", "-", "--no-manifests", input=example_text(size="medium")).exit_code == 1


@pytest.mark.slow
def test_diff_names_what_of_others_an_install_would_meet(kube: FakeKube):
    osctl("apply", "-f", str(EXAMPLE))
    metadata = {
        "name": "rabbitmq-compute",
        "namespace": "openstack",
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "theirs"},
    }
    kube.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata}, manager="theirs")

    broker = example_text(features={"messaging": {"dedicatedBrokers": ["compute"]}})
    result = osctl("diff", "-f", "-", input=broker)

    assert result.exit_code == ExitCode.NEEDS_EDIT
    assert "refused   Service/rabbitmq-compute belongs to" in result.stdout
    assert "1 release CANNOT BE UPGRADED: rabbitmq-compute" in result.stdout


def test_a_wrong_duration_is_a_wrong_command_line(kube: FakeKube):
    result = osctl("wait", "--timeout", "soon")
    assert result.exit_code == 2
    assert "90s, 20m or 1h30m" in result.stderr


def test_without_a_kubeconfig_the_cluster_is_unreachable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    result = osctl("status")
    assert result.exit_code == 7
    assert "kubeconfig" in result.stderr


def test_an_unknown_context_names_those_there_are(tmp_path: Path):
    file = tmp_path / "config"
    file.write_text(
        "clusters: [{name: c, cluster: {server: https://x}}]\nusers: []\n"
        "contexts: [{name: home, context: {cluster: c}}]\ncurrent-context: home\n"
    )
    result = osctl("status", "--kubeconfig", str(file), "--context", "away")
    assert result.exit_code == 7
    assert "it has: home" in result.stderr


@pytest.mark.parametrize("text", ["", "- a", "clusters: 3", "{", "clusters: [{name: c}]\ncontexts: []"])
def test_a_broken_kubeconfig_is_a_message(tmp_path: Path, text: str):
    file = tmp_path / "config"
    file.write_text(text)
    result = osctl("status", "--kubeconfig", str(file))
    assert result.exit_code == 7
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_the_help_lists_the_exit_codes():
    assert "4  not Ready within the timeout" in osctl("--help").stdout


def test_charts_that_only_the_cluster_can_reach_do_not_stop_an_apply(kube: FakeKube, tmp_path: Path):
    text = example_text(charts={"repository": f"file://{tmp_path}/nowhere"})
    result = osctl("apply", "-f", "-", input=text)
    assert result.exit_code == 0, result.stderr
    assert "not compared with the charts" in result.stderr
