"""Hostile input: whatever a file holds, a person gets a message with a path, soon, and never a traceback."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
import time
from typing import Any

import pytest
import yaml

from controller.domain.deployment import parse_deployment
from controller.domain.yaml_reader import read_documents
from controller.errors import SpecInvalid
from controller.render import render_region
from tests.render.region import ROOT, UpstreamCharts, core_spec, library, schema
from tests.render.specs import FEATURES

SECONDS = 2.0
MEGABYTES = 300
WORDS = [
    "",
    "no",
    "y",
    "1:30",
    "012",
    "{{ x }}",
    "$patch",
    "$secretRef",
    "é😀",
    "a\nb",
    "\u2028",
    "x" * 5000,
    "../..",
    "%s",
    "'",
    "#",
]
ODD: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**63 - 1,
    1e308,
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"$patch": "delete"},
]
ODD += [
    {"$patch": "bad"},
    {"$secretRef": {"name": "a", "key": "b"}},
    {"$secretRef": 1},
    {"a": {"b": {"c": {}}}},
]


def read_and_render(text: str) -> None:
    """What core and osctl do with a text. Raises SpecInvalid with every problem."""
    for document in read_documents(text, "region.yaml"):
        deployment = parse_deployment(document.value, schema())
        render_region(deployment, library(), UpstreamCharts(), lines=document.lines, source="region.yaml")


def check(text: str) -> None:
    started = time.monotonic()
    try:
        read_and_render(text)
    except SpecInvalid as refusal:
        assert refusal.problems
        assert all(problem.path and problem.message for problem in refusal.problems)
        assert all(len(str(problem)) < 3000 for problem in refusal.problems)
    assert time.monotonic() - started < SECONDS * slowness()


def slowness() -> float:
    """How much slower than alone this machine is now: other tests run beside this one."""
    started = time.process_time(), time.monotonic()
    sum(range(200_000))
    busy, passed = time.process_time() - started[0], time.monotonic() - started[1]
    return max(1.0, passed / max(busy, 1e-6))


def whole(spec: Any) -> dict[str, Any]:
    metadata = {"name": "region-one", "namespace": "openstack"}
    return {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "OpenStackDeployment",
        "metadata": metadata,
        "spec": spec,
    }


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in ((*path, key), *places(item, (*path, key)))]


def mutated(chance: random.Random) -> str:
    """A spec of a random feature with one to four things wrong in it, as YAML."""
    feature = chance.choice(list(FEATURES.values()))
    document = whole(copy.deepcopy(core_spec(**{"preset": "compute", **feature})))
    auth = {"identity": {"keystone": {"values": {"conf": {"keystone": {"DEFAULT": {"debug": True}}}}}}}
    document["spec"].setdefault("services", copy.deepcopy(auth))
    for _ in range(chance.randint(1, 4)):
        path = chance.choice(places(document))
        parent: Any = document
        for key in path[:-1]:
            parent = parent[key]
        kind = chance.randrange(5)
        if kind == 0:
            parent[path[-1]] = copy.deepcopy(chance.choice(ODD))
        elif kind == 1:
            parent[path[-1]] = chance.choice(WORDS)
        elif kind == 2 and isinstance(parent, dict):
            parent[chance.choice(WORDS)] = parent.pop(path[-1])
        elif kind == 3:
            parent[path[-1]] = [parent[path[-1]]] * chance.randint(0, 3)
        elif isinstance(parent, dict):
            del parent[path[-1]]
    return yaml.safe_dump(document, allow_unicode=chance.random() < 0.5, sort_keys=False)


def scrambled(chance: random.Random) -> str:
    """The text of a spec with characters changed, lines doubled or cut off."""
    text = yaml.safe_dump(whole(core_spec(**chance.choice(list(FEATURES.values())))))
    kind = chance.randrange(4)
    if kind == 0:
        place = chance.randrange(len(text))
        return text[:place] + chance.choice("\t{}[]&*!|>'\"%@`:,#-\x00\x7f") + text[place + 1 :]
    lines = text.splitlines()
    place = chance.randrange(len(lines))
    if kind == 1:
        lines.insert(place, lines[place])
    elif kind == 2:
        lines[place] = " " * chance.randint(0, 6) + lines[place].strip()
    else:
        lines = lines[:place]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(30))
def test_a_spec_with_something_wrong(seed: int) -> None:
    check(mutated(random.Random(seed)))


@pytest.mark.parametrize("seed", range(20))
def test_a_text_with_something_wrong(seed: int) -> None:
    check(scrambled(random.Random(seed)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("block", range(20))
def test_a_thousand_inputs(block: int) -> None:
    for seed in range(1000 + block * 50, 1050 + block * 50):
        chance = random.Random(seed)
        check(mutated(chance) if seed % 2 else scrambled(chance))


def _big() -> dict[str, str]:
    head = yaml.safe_dump(whole(core_spec()))
    bomb = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))
    deep = "      values: " + "{a: " * 90 + "1" + "}" * 90
    keystone = "  services:\n    identity:\n      keystone:\n"
    many = "\n".join(f"          k{n}: {{v: {n}}}" for n in range(60_000))
    return {
        "alias bomb": "a0: &a0 [x]\n" + bomb,
        "merge bomb": "a0: &a0 {x: 1}\n"
        + "\n".join(f"a{n}: &a{n} {{<<: *a{n - 1}, k{n}: *a{n - 1}}}" for n in range(1, 60)),
        "deep values": f"{head}{keystone}  {deep}\n",
        "deeper than allowed": "[" * 50_000,
        "deeper by indentation": "".join(" " * n + "a:\n" for n in range(1200)),
        "a spec of 1.2 MB": f"{head}{keystone}        values:\n          text: {'x' * 1_200_000}\n",
        "60,000 keys": f"{head}{keystone}        values:\n{many}\n",
        "a million empty documents": "---\n" * 300_000,
        "a long scalar": "a: " + "x" * 3_900_000,
        "many problems": f"{head}{keystone}        values:\n"
        + "\n".join(f'          "p{n}": {{password: x}}' for n in range(3000)),
        "many unknown services": head + "  services:\n" + "\n".join(f"    s{n}: {{}}" for n in range(200)),
        "a long key": head + "  services:\n    ? " + "k" * 100_000 + "\n    : {}\n",
    }


BIG = _big()


PROGRAM = """
import json, pathlib, re, time
from controller.errors import SpecInvalid
from tests.render.region import library, schema
from tests.render.test_hostile import BIG, read_and_render

library(), schema()
for name, text in BIG.items():
    started = time.process_time()
    try:
        read_and_render(text)
        said = "rendered"
    except SpecInvalid as refusal:
        said = str(refusal.problems[0])[:300]
    # Not ru_maxrss, which a process has from its parent.
    status = pathlib.Path("/proc/self/status").read_text()
    memory = int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1024
    print(json.dumps([name, said, time.process_time() - started, memory]))
"""


@pytest.mark.slow
def test_inputs_made_to_exhaust_are_refused_in_time_and_memory() -> None:
    """In a process of their own, whose memory is measured; its imports are counted in."""
    command = [sys.executable, "-c", PROGRAM]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, check=False)
    assert answer.returncode == 0, answer.stderr[-2000:]
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    harmless = {"deep values", "a million empty documents"}
    assert {name for name, said, _, _ in found if said == "rendered"} == harmless
    assert {name: seconds for name, _, seconds, _ in found if seconds > SECONDS} == {}
    assert {name: memory for name, _, _, memory in found if memory > MEGABYTES} == {}
