"""Runs inputs of a directory through osctl, and says whether each comes out as its first line says.

    python -m tools.report_cases DIRECTORY --charts CHECKOUT

A case is a file `NN-*.yaml`, or a program `.sh` or `.py` that prints one. Its first line, `# EXPECT: …`, says
in words what is right. `@CHARTS@` stands for the checkout of OpenStack-Helm. What needs a cluster is not run.
For each case one line: `as said`, `differs` or `not run`, and what osctl printed of it in short.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

SECONDS = 600
# Arguments of programs that make several inputs, as their first lines list them.
_ARGUMENTS = re.compile(r"Argument: ([\w, ]+?) or (\w+)")
# A problem: its place, if osctl knows that, and its word.
_PROBLEM = re.compile(r"^(?:\S+  )?(error|warning): ")
# Places that a case sets: warnings about the rest of its region are not about it.
_ABOUT = re.compile(r"spec\.(services|nodes|common|features\.tls)|release \S+:|Secret ")


def _said(line: str) -> str:
    """`error` or `warning`, empty for any other line."""
    found = _PROBLEM.match(line)
    return found[1] if found else ""


@dataclass(frozen=True)
class Result:
    """What osctl made of one input."""

    code: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def errors(self) -> list[str]:
        return [line for line in self.lines if _said(line) == "error"]

    @property
    def about(self) -> list[str]:
        """Errors and warnings about what the case sets."""
        return [line for line in self.lines if _said(line) and _ABOUT.search(line)]

    @property
    def accepted(self) -> bool:
        return self.code == 0 and not self.errors


@dataclass(frozen=True)
class Rule:
    """Decides cases whose first line matches. `manifests`: by what Helm makes of it, and not by validate."""

    pattern: re.Pattern[str]
    holds: Callable[[str, Result], bool]
    manifests: bool = False


def _named(pattern: str, expected: str, result: Result) -> bool:
    names = re.findall(pattern, expected)
    return bool(names) and all(name in result.text for name in names)


def _refused(expected: str, result: Result) -> bool:
    options = re.findall(r"\b[a-zA-Z_]+\.[a-z][a-z_]+\b(?=[,.]|$)", expected.partition(":")[2])
    return bool(result.errors) and all(one in result.text for one in options if "_" in one)


# The first that matches decides.
RULES = (
    Rule(
        re.compile(r"numbers reach"),
        lambda expected, result: _named(r"\b\d{8,}\b", expected, result) and "= 1e+07" not in result.text,
        manifests=True,
    ),
    Rule(
        re.compile(r"Job \S+ and Service"),
        lambda expected, result: _named(r"(?:Job|Service) ([a-z][\w-]+)", expected, result),
    ),
    Rule(re.compile(r"accepted as far as it goes"), lambda _, result: len(result.errors) <= 3),
    Rule(
        re.compile(r'without "([^"]+)"'),
        lambda expected, result: (
            result.accepted and re.findall(r'without "([^"]+)"', expected)[0] not in result.text
        ),
    ),
    Rule(
        re.compile(r"accepted, with a warning"),
        lambda expected, result: result.accepted and _named(r'no \w+ "([^"]+)"', expected, result),
    ),
    Rule(re.compile(r"accept(s|ed)"), lambda _, result: result.accepted),
    Rule(re.compile(r"\brefuse[sd]\b"), _refused),
    Rule(re.compile(r"\bwarn"), lambda _, result: bool(result.about)),
)


@dataclass(frozen=True)
class Case:
    """One file of the directory."""

    path: Path
    expected: str
    content: str

    @property
    def why_not(self) -> str:
        """Why it cannot be run here; empty where it can."""
        if "kubectl " in self.content or "helm " in self.content:
            return "it needs a cluster"
        return "" if self.rule else "its first line says nothing that can be decided"

    @property
    def rule(self) -> Rule | None:
        return next((rule for rule in RULES if rule.pattern.search(self.expected)), None)


def cases(directory: Path) -> Iterator[Case]:
    """The cases of a directory, by name."""
    for path in sorted(directory.iterdir()):
        if path.suffix in (".yaml", ".sh", ".py"):
            content = path.read_text(encoding="utf-8")
            first = content.partition("\n")[0]
            if first.startswith("# EXPECT"):
                yield Case(path, first.partition(":")[2].strip(), content)


def inputs(case: Case, charts: str, directory: Path) -> Iterator[str]:
    """The files that a case is, or that its program prints, each as a text."""
    if case.path.suffix == ".yaml":
        yield case.content.replace("@CHARTS@", charts)
        return
    program = ["sh"] if case.path.suffix == ".sh" else [sys.executable]
    listed = _ARGUMENTS.search(case.expected)
    choices = [*listed[1].split(", "), listed[2]] if listed else [str(directory / "made")]
    for choice in choices:
        command = [*program, str(case.path), choice]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
        yield done.stdout.replace("@CHARTS@", charts)


def osctl(text: str, directory: Path, *, manifests: bool) -> Result:
    """What `osctl validate --manifests`, or `osctl render --manifests`, says of a text."""
    file = directory / "region.yaml"
    file.write_text(text, encoding="utf-8")
    command = ["render" if manifests else "validate", "--manifests", str(file)]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "controller.cli.main", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1]), "NO_COLOR": "1"},
    )
    shown = "\n".join(_files(done.stdout)) if manifests else done.stdout
    return Result(done.returncode, tuple((shown + done.stderr).splitlines()))


def _files(rendered: str) -> Iterator[str]:
    """The files in Secrets and ConfigMaps of what Helm makes."""
    for one in yaml.load_all(rendered, yaml.CSafeLoader):
        kind = one.get("kind") if isinstance(one, dict) else None
        for text in (one.get("data") or {}).values() if kind in ("Secret", "ConfigMap") else ():
            yield base64.b64decode(text).decode("utf-8", "replace") if kind == "Secret" else text


def judge(case: Case, results: Sequence[Result]) -> bool:
    """Whether every input of a case came out as it says."""
    assert case.rule is not None
    return bool(results) and all(case.rule.holds(case.expected, one) for one in results)


def summary(result: Result) -> str:
    """What was said of an input, in one line."""
    said = [_PROBLEM.sub("", line) for line in result.errors or result.about]
    return f"code {result.code}: {said[0][:140]}" if said else f"code {result.code}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each case. 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--charts", type=Path, required=True, help="checkout of OpenStack-Helm")
    parser.add_argument("--only", default="", help="cases whose names begin so")
    given = parser.parse_args(arguments)
    differ = 0
    for case in cases(given.directory):
        if not case.path.name.startswith(given.only):
            continue
        if case.why_not:
            print(f"not run  {case.path.name}: {case.why_not}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as place:
            texts = list(inputs(case, str(given.charts.resolve()), Path(place)))
            assert case.rule is not None
            results = [osctl(text, Path(place), manifests=case.rule.manifests) for text in texts]
        right = judge(case, results)
        differ += not right
        shown = "; ".join(dict.fromkeys(summary(one) for one in results))
        print(f"{'as said' if right else 'differs'}  {case.path.name}: {shown}", flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
