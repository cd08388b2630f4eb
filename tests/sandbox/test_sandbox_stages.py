"""The failure stages are well formed and win over KWOK's own ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.control_plane import STAGE_DIRECTORY, write_stages

FAILURES = ("crash-loop", "image-pull", "job-fails", "job-hangs", "slow-ready")


def stages_of(failure: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((STAGE_DIRECTORY / f"{failure}.yaml").read_text()))


def test_there_is_a_file_for_each_failure() -> None:
    assert sorted(path.stem for path in STAGE_DIRECTORY.glob("*.yaml")) == sorted(FAILURES)


@pytest.mark.parametrize("failure", FAILURES)
def test_each_stage_is_selected_by_the_failure_label_alone(failure: str) -> None:
    for stage in stages_of(failure):
        assert stage["kind"] == "Stage"
        assert stage["spec"]["selector"]["matchLabels"] == {"sandbox.osctl.dev/fail": failure}


@pytest.mark.parametrize("failure", FAILURES)
def test_each_stage_outweighs_the_stages_of_healthy_pods(failure: str) -> None:
    assert all(stage["spec"]["weight"] > 0 for stage in stages_of(failure))


@pytest.mark.parametrize("failure", FAILURES)
def test_no_stage_holds_up_a_deletion(failure: str) -> None:
    for stage in stages_of(failure):
        rules = stage["spec"]["selector"]["matchExpressions"]
        assert {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"} in rules


def test_volume_stages_are_widened_to_all_storage_classes(tmp_path: Path) -> None:
    source = tmp_path / "module"
    source.mkdir()
    (source / "pvc.yaml").write_text("expression: self.spec.storageClassName == 'kwok-volume'\n")
    write_stages(source, tmp_path / "out")
    text = (tmp_path / "out" / "pvc.yaml").read_text()
    assert text == "expression: self.spec.storageClassName in ['standard', 'general', 'fast']\n"


def test_stage_names_do_not_clash(tmp_path: Path) -> None:
    names = [stage["metadata"]["name"] for failure in FAILURES for stage in stages_of(failure)]
    assert len(set(names)) == len(names)
