"""A checkout's charts as we complete them, beside Helm's own `helm dependency build` on a copy."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.build import ensure_binaries
from sandbox.patience import patient
from tests.adapters.charts.checkout import DEFINES, TOOLKIT, USES, store, web, write
from tests.adapters.charts.test_versions import CASES

pytestmark = pytest.mark.slow

ALSO = {"name": "also", "repository": "file://../also", "version": "0.1.0"}
OBJECT = {
    "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Chart.Name }}}\n"
    "data: {{ .Values.global | default dict | toJson }}\n"
}


def helm(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    command = [str(ensure_binaries().helm), *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=patient(60), check=False
    )


def both_render(charts: Path, *options: str) -> tuple[str, str]:
    """`helm template` of what we give Helm, and of a copy completed by Helm."""
    copy = charts.parent / "copy"
    shutil.copytree(charts, copy)
    built = helm(copy, "dependency", "build", str(copy / "web"))
    assert built.returncode == 0, built.stderr
    answers = [
        helm(copy, "template", "r", place, *options)
        for place in (store(charts).locate(web(charts)), str(copy / "web"))
    ]
    assert [answer.returncode for answer in answers] == [0, 0], answers[0].stderr
    return answers[0].stdout, answers[1].stdout


@pytest.mark.parametrize(
    ("dependency", "options"),
    [
        ({}, ()),
        ({"alias": "other"}, ()),
        ({"condition": "also.enabled"}, ("--set", "also.enabled=false")),
        ({"condition": "also.enabled"}, ("--set", "also.enabled=true")),
        ({"tags": ["extra"]}, ("--set", "tags.extra=false")),
        ({"import-values": [{"child": "export", "parent": "global"}]}, ()),
    ],
    ids=["plain", "alias", "condition off", "condition on", "tag off", "imported values"],
)
def test_conditions_tags_and_aliases_do_what_they_do_in_helm(
    tmp_path: Path, dependency: dict[str, Any], options: Sequence[str]
) -> None:
    charts = tmp_path / "osh"
    write(charts / "toolkit", DEFINES)
    write(charts / "also", OBJECT, values="export: {a: b}\n")
    write(charts / "web", USES, dependencies=[TOOLKIT, {**ALSO, **dependency}])

    ours, helms = both_render(charts, *options)
    assert ours == helms
    assert ("# Source: web/charts/" in ours) is ("false" not in str(options))


def test_what_a_chart_and_its_dependency_ignore_is_left_out_as_by_helm(tmp_path: Path) -> None:
    charts = tmp_path / "osh"
    listed = {"templates/l.yaml": '{{ range $name, $_ := .Files.Glob "**" }}# {{ $name }}\n{{ end }}'}
    names = ("a.md", "b.txt", "d/a.md", "d/b.txt", "n/a", "[x].txt", "x.txt")
    files = {**listed, **dict.fromkeys(names, "x")}
    write(charts / "also", {**files, ".helmignore": "*.md\n/n/\n"})
    write(charts / "web", {**files, ".helmignore": "d/*.txt\n[^a-w].txt\n"}, dependencies=[ALSO])

    ours, helms = both_render(charts)
    assert ours == helms
    assert "# d/b.txt" in ours and ours.count("# a.md") == 1


def test_a_lock_file_of_helm_is_followed(tmp_path: Path) -> None:
    charts = tmp_path / "osh"
    write(charts / "toolkit", DEFINES)
    write(charts / "web", USES, dependencies=[TOOLKIT])
    assert helm(tmp_path, "dependency", "update", str(charts / "web")).returncode == 0
    shutil.rmtree(charts / "web/charts")
    assert (charts / "web/Chart.lock").is_file()

    ours, helms = both_render(charts)
    assert ours == helms


def test_a_version_is_taken_when_helm_takes_it(tmp_path: Path) -> None:
    taken = {}
    for number, (version, constraint, _) in enumerate(CASES):
        charts = tmp_path / str(number)
        dependency = {"name": "toolkit", "repository": "file://../toolkit", "version": constraint}
        write(charts / "toolkit", {"Chart.yaml": json.dumps({"apiVersion": "v2", "name": "toolkit"})})
        write(charts / "toolkit", version=version)
        write(charts / "web", dependencies=[dependency])
        taken[version, constraint] = (
            helm(tmp_path, "dependency", "build", str(charts / "web")).returncode == 0
        )

    assert taken == {(version, constraint): expected for version, constraint, expected in CASES}
