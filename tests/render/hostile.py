"""Input that means harm: specs with something wrong in them, drawn from a seed, and texts made to exhaust.

As a program (`python -m tests.render.hostile big|seeds FIRST LAST`) it reads and renders each in a process of
its own, and prints for each what was said, the seconds of CPU and the megabytes that it took at most.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.domain.region.deployment import parse_deployment
from controller.domain.values.templates.service_template import DEFECT
from controller.domain.values.yaml_reader import read_documents
from controller.errors import SpecInvalid
from controller.render.region import render_region
from tests.render.region import UpstreamCharts, core_spec, library, schema
from tests.render.specs import FEATURES

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


MARKS: list[Any] = [None, {"$patch": "delete"}, {"$patch": "replace", "a": 1}, "delete", "replace"]
# Stores of every type, which the generator doubles.
STORES: Mapping[str, Any] = {
    "features": {
        "image": {
            "backends": [
                {"name": "rbd", "type": "ceph"},
                {"name": "disk", "type": "pvc"},
                {"name": "volumes", "type": "cinder"},
                {"name": "objects", "type": "swift"},
            ]
        },
        "blockStorage": {
            "backends": [
                {"name": "fast", "type": "ceph"},
                {"name": "local", "type": "lvm"},
                {"name": "filer", "type": "nfs", "nfs": {"shares": ["filer.example.org:/volumes"]}},
                {"name": "array", "type": "custom", "conf": {"volume_driver": "example.Driver"}},
            ]
        },
    }
}


def read_and_render(text: str) -> None:
    """What core and osctl do with a text. Raises SpecInvalid with every problem."""
    for document in read_documents(text, "region.yaml"):
        deployment = parse_deployment(document.value, schema())
        render_region(deployment, library(), UpstreamCharts(), lines=document.lines, source="region.yaml")


def refusal(text: str) -> str:
    """The first problem of the text, or "rendered". Fails for too few words, or a defect of ours."""
    try:
        read_and_render(text)
    except SpecInvalid as refused:
        assert refused.problems
        for problem in refused.problems:
            assert problem.path, problem
            assert problem.message, problem
            assert len(str(problem)) < 3000, problem
            assert problem.remedy != DEFECT, problem
        return str(refused.problems[0])[:300]
    return "rendered"


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


def _another_store(chance: random.Random, document: dict[str, Any]) -> None:
    """Doubles an item of a list under another name: two stores of one type, two networks, two domains."""
    lists = [path for path in places(document) if path[-1] == 0 and isinstance(at(document, path), dict)]
    if lists:
        path = chance.choice(lists)
        items = at(document, path[:-1])
        items.append(
            {**copy.deepcopy(chance.choice(items)), "name": chance.choice(["other", "other", *WORDS])}
        )


def _mark_for_nodes(chance: random.Random, document: dict[str, Any]) -> None:
    """Puts something odd, a mark mostly, somewhere into the values for labelled nodes."""
    spec = document.get("spec")
    nodes = spec.get("nodes") if isinstance(spec, dict) else None
    inside = [path for path in places(nodes) if "values" in path[:-1]]
    if inside:
        path = chance.choice(inside)
        above = at(nodes, path[:-1])
        if isinstance(above, dict):
            above[chance.choice([path[-1], "other", "$patch"])] = copy.deepcopy(chance.choice([*ODD, *MARKS]))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def mutated(chance: random.Random) -> str:
    """A spec of a random feature with one to four things wrong in it, as YAML."""
    feature = STORES if chance.random() < 0.2 else chance.choice(list(FEATURES.values()))
    document = whole(copy.deepcopy(core_spec(**{"preset": "compute-baremetal", **feature})))
    auth = {"identity": {"keystone": {"values": {"conf": {"keystone": {"DEFAULT": {"debug": True}}}}}}}
    document["spec"].setdefault("services", copy.deepcopy(auth))
    document["spec"].setdefault("nodes", copy.deepcopy(FEATURES["nodes"]["nodes"]))
    for _ in range(chance.choice((1, 1, 1, 2, 3, 4))):  # one alone gets furthest
        path = chance.choice(places(document))
        parent: Any = document
        for key in path[:-1]:
            parent = parent[key]
        kind = chance.randrange(7)
        if kind == 5:
            _another_store(chance, document)
        elif kind == 6:
            _mark_for_nodes(chance, document)
        elif kind == 0:
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


def drawn(seed: int) -> str:
    """The input of a seed: half of them are wrong specs, half are wrong texts."""
    chance = random.Random(seed)
    return mutated(chance) if seed % 2 else scrambled(chance)


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


def measured(text: str) -> tuple[str, float, float]:
    """What was said, seconds of CPU, and megabytes at most: of a process that does nothing else.

    Its peak begins with what this process holds: imports and the library are counted in.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        started = time.process_time()
        try:
            said = refusal(text)
        except Exception as error:  # passed to the parent, which fails
            said = f"TRACEBACK {type(error).__name__}: {error}"[:2000]
        seconds = time.process_time() - started
        # Not ru_maxrss, which a process has from its parent.
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        os.write(writer, json.dumps([said, seconds, int(found[1]) / 1024 if found else 0.0]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    said, seconds, memory = json.loads(answer) if answer else ("TRACEBACK: the process died", 0.0, 0.0)
    return said, seconds, memory


def main() -> None:
    """Prints a line of JSON for each input: its name, and what `measured` found."""
    library(), schema()
    if sys.argv[1] == "big":
        inputs = BIG
    else:
        inputs = {str(seed): drawn(seed) for seed in range(int(sys.argv[2]), int(sys.argv[3]))}
    for name, text in inputs.items():
        print(json.dumps([name, *measured(text)]))


if __name__ == "__main__":
    main()
