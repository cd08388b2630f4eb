"""osctl upgrade start, pause, resume, continue and abort."""

from __future__ import annotations

from typing import Any

import pytest

from controller.ports.kubernetes import OSDPL, KubeObjects
from tests.cli.commands.upgrade.conftest import Terminal
from tests.cli.objects import osctl
from tests.fakes.kube import Request
from tests.reconcile.region.upgrade.upgrading_region import NEW, OLD, UpgradingRegion

pytestmark = pytest.mark.slow


def spec(region: UpgradingRegion) -> dict[str, Any]:
    [found] = region.kube.objects(OSDPL.kind)
    there: dict[str, Any] = found["spec"]
    return there


def test_start_sets_the_version_and_nothing_else(region: UpgradingRegion) -> None:
    before = spec(region)
    result = osctl("upgrade", "start", NEW, "--yes")
    assert (result.exit_code, result.stdout) == (0, f"region-one: spec.openstackVersion is {NEW}\n")
    assert spec(region) == {**before, "openstackVersion": NEW}
    assert f'set openstackVersion: "{NEW}" in the file of the region, too' in result.stderr


def test_start_that_waits_ends_when_the_new_version_runs(region: UpgradingRegion) -> None:
    result = osctl("upgrade", "start", NEW, "--yes", "--wait")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == f"region-one: {OLD} → {NEW}: Finished"
    assert region.status["openstackVersion"] == NEW
    assert "image running" in result.stderr


def test_start_asks_a_person_after_the_plan_was_shown(region: UpgradingRegion, terminal: Terminal) -> None:
    result = osctl("upgrade", "start", NEW, "--no-manifests")
    assert result.exit_code == 5
    assert terminal.asked == [f"Begin the upgrade from {OLD} to {NEW}?"]
    assert "compute/computes" in result.stderr
    assert spec(region)["openstackVersion"] == OLD


def test_start_without_a_terminal_begins_nothing_unasked(region: UpgradingRegion) -> None:
    assert osctl("upgrade", "start", NEW, "--no-manifests").exit_code == 2
    assert spec(region)["openstackVersion"] == OLD


def test_start_of_a_version_that_there_is_not_names_those_that_there_are(region: UpgradingRegion) -> None:
    result = osctl("upgrade", "start", "2026.9", "--yes")
    assert result.exit_code == 3
    assert 'there is no version "2026.9"; did you mean "2026.1"?' in result.stderr


def test_start_of_an_older_version_is_refused(region: UpgradingRegion) -> None:
    result = osctl("upgrade", "start", "2025.1", "--yes")
    assert result.exit_code == 5
    assert "refused" in result.stderr
    assert spec(region)["openstackVersion"] == OLD


def test_start_beside_another_upgrade_begins_nothing(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("image")
    result = osctl("upgrade", "start", "2025.1", "--yes")
    assert result.exit_code == 5
    assert f"the upgrade from {OLD} to {NEW} is not finished" in result.stderr


def applied_by(region: UpgradingRegion, manager: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API server says that this client applies the version of the region."""
    entry = {"manager": manager, "operation": "Apply", "fieldsV1": {"f:spec": {"f:openstackVersion": {}}}}
    stored = region.kube.list

    def listed(*given: Any, **options: Any) -> KubeObjects:
        found = stored(*given, **options)
        return [{**one, "metadata": {**one["metadata"], "managedFields": [entry]}} for one in found]

    monkeypatch.setattr(region.kube, "list", listed)


def test_start_leaves_a_version_that_a_gitops_tool_applies(
    region: UpgradingRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied_by(region, "argocd-controller", monkeypatch)
    result = osctl("upgrade", "start", NEW, "--yes")
    assert result.exit_code == 5
    assert "argocd-controller applies spec.openstackVersion" in result.stderr
    assert spec(region)["openstackVersion"] == OLD
    assert osctl("upgrade", "start", NEW, "--yes", "--force-conflicts").exit_code == 0
    assert spec(region)["openstackVersion"] == NEW


def test_abort_says_which_gitops_tool_would_begin_it_again(
    region: UpgradingRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    region.edit(openstackVersion=NEW, upgrade={"paused": True})
    region.reconcile()
    applied_by(region, "kustomize-controller", monkeypatch)
    result = osctl("upgrade", "abort", "--yes")
    assert result.exit_code == 0, result.output
    assert f"kustomize-controller applies spec.openstackVersion: set it to {OLD} there" in result.stderr


def test_start_in_mode_plan_says_that_an_approval_is_needed(region: UpgradingRegion) -> None:
    region.edit(mode="Plan")
    result = osctl("upgrade", "start", NEW, "--yes", "--wait")
    assert result.exit_code == 5
    assert "nothing begins before osctl approve region-one" in result.stderr


def test_pause_and_resume_hold_the_next_step(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    result = osctl("upgrade", "pause")
    assert result.stdout == "region-one: paused, no step begins; step identity continues\n"
    assert osctl("upgrade", "pause").stdout == "region-one: already paused\n"
    waited = osctl("upgrade", "status", "--wait")
    assert waited.exit_code == 5
    assert "osctl upgrade resume region-one" in waited.stdout
    assert region.current == "placement"
    assert osctl("upgrade", "resume").stdout == "region-one: resumed\n"
    assert osctl("upgrade", "resume").stdout == "region-one: not paused\n"
    assert osctl("upgrade", "status", "--wait").exit_code == 0
    assert region.status["openstackVersion"] == NEW


def test_continue_allows_one_step_and_no_other(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW, upgrade={"gates": "Manual"})
    assert osctl("upgrade", "status", "--wait").exit_code == 5
    assert region.current == "identity"
    result = osctl("upgrade", "continue", "--wait")
    assert result.exit_code == 0, result.output
    assert "step identity may begin" in result.stdout
    assert osctl("upgrade", "status", "--wait").exit_code == 5
    assert region.current == "placement"


@pytest.mark.parametrize("word", ["continue", "abort"])
def test_nothing_is_edited_without_an_upgrade(region: UpgradingRegion, word: str) -> None:
    region.kube.forget_requests()
    result = osctl("upgrade", word)
    assert result.exit_code == 5
    assert "no upgrade is under way" in result.stderr
    assert region.kube.writes == []


def test_continue_without_manual_gates_says_what_holds(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW, upgrade={"paused": True})
    region.reconcile()
    result = osctl("upgrade", "continue")
    assert result.exit_code == 5
    assert "its gates are not Manual" in result.stderr
    assert "osctl upgrade resume region-one" in result.stderr


def test_abort_before_a_migration_returns_to_the_version_before(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW, upgrade={"paused": True})
    region.reconcile()
    result = osctl("upgrade", "abort", "--yes", "--wait")
    assert result.exit_code == 0, result.output
    assert f"spec.openstackVersion is {OLD} again" in result.stdout
    assert region.upgrade["phase"] == "Aborted"


def test_abort_after_a_migration_is_refused(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("image")
    result = osctl("upgrade", "abort", "--yes")
    assert result.exit_code == 5
    assert f"{OLD} cannot return" in result.stderr
    assert spec(region)["openstackVersion"] == NEW


def test_abort_meets_a_migration_that_begins_meanwhile(region: UpgradingRegion) -> None:
    region.edit(openstackVersion=NEW, upgrade={"paused": True})
    region.reconcile()
    assert not region.upgrade["pointOfNoReturn"]

    def migrate(request: Request) -> None:
        if request.verb == "patch":
            region.kube.before_write = lambda _: None
            region.edit(upgrade={"paused": False})
            region.begin("identity")

    region.kube.before_write = migrate
    result = osctl("upgrade", "abort", "--yes")
    assert region.upgrade["pointOfNoReturn"]
    assert result.exit_code == 5, result.output
    assert spec(region)["openstackVersion"] == NEW
