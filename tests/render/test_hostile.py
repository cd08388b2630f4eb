"""Hostile input: whatever a file holds, a person gets a message with a path, soon, and never a traceback."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time

import pytest

from controller.domain.values.templates.service_template import DEFECT
from controller.errors import Problem, SpecInvalid
from sandbox.patience import patient
from tests.render import hostile
from tests.render.hostile import mutated, refusal, scrambled
from tests.render.region import ROOT

SECONDS = 5.0
MEGABYTES = 300


def check(text: str) -> None:
    started = time.process_time()
    refusal(text)
    assert time.process_time() - started < SECONDS


def run(*arguments: str) -> dict[str, tuple[str, float, float]]:
    """By input: what was said, seconds and megabytes, of a process for each."""
    command = [sys.executable, "-m", "tests.render.hostile", *arguments]
    answer = subprocess.run(
        command, capture_output=True, text=True, timeout=patient(600), cwd=ROOT, check=False
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    lines = map(json.loads, answer.stdout.splitlines())
    return {name: (said, seconds, memory) for name, said, seconds, memory in lines}


def check_measured(found: dict[str, tuple[str, float, float]]) -> None:
    assert {name: said for name, (said, _, _) in found.items() if said.startswith("TRACEBACK")} == {}
    assert {name: seconds for name, (_, seconds, _) in found.items() if seconds > SECONDS} == {}
    assert {name: memory for name, (_, _, memory) in found.items() if not 0 < memory < MEGABYTES} == {}


@pytest.mark.parametrize("seed", range(30))
def test_a_spec_with_something_wrong(seed: int) -> None:
    check(mutated(random.Random(seed)))


@pytest.mark.parametrize("seed", range(20))
def test_a_text_with_something_wrong(seed: int) -> None:
    check(scrambled(random.Random(seed)))


def test_a_defect_of_a_template_is_not_taken_for_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> None:
        raise SpecInvalid(
            [Problem("$", "template: 'x' is undefined", DEFECT, "values/services/image/releases.yaml.j2:9")]
        )

    monkeypatch.setattr(hostile, "read_and_render", broken)
    with pytest.raises(AssertionError):
        check("")


@pytest.mark.slow
def test_what_is_drawn_has_two_stores_of_one_type_and_marks_for_nodes() -> None:
    texts = [mutated(random.Random(seed)) for seed in range(300)]
    assert any(text.count("type: pvc") > 1 for text in texts)
    assert any(text.count("type: nfs") > 1 for text in texts)
    nodes = [text.partition("\n  nodes:")[2] for text in texts]
    assert any("$patch: delete" in text for text in nodes)
    assert any("$patch: replace" in text for text in nodes)
    assert any("null" in text for text in nodes)


@pytest.mark.exhaustive
@pytest.mark.parametrize("block", range(4))
def test_a_thousand_inputs(block: int) -> None:
    check_measured(run("seeds", str(1000 + block * 250), str(1250 + block * 250)))


@pytest.mark.slow
def test_inputs_made_to_exhaust_are_refused_in_time_and_memory() -> None:
    found = run("big")
    check_measured(found)
    harmless = {"deep values", "a million empty documents"}
    assert {name for name, (said, _, _) in found.items() if said == "rendered"} == harmless
