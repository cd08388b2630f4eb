"""What the Job nova-db-sync asks of nova-manage, which is read once and forked for each command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.patience import patient
from tests.charts.running import program
from tests.charts.test_scripts import scripts

pytestmark = pytest.mark.slow

CELL0 = "mysql+pymysql://nova:x@database/nova_cell0"
# Says what it was asked, and how often it was read; answers and ends as the test has it.
MANAGE = """
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "read").open("a") as file: file.write("x")
def main():
    asked = sys.argv[3:]
    with (here / "asked").open("a") as file: file.write(json.dumps(asked) + chr(10))
    answers = json.loads((here / "answers.json").read_text())
    answer = answers.get(" ".join(asked[:2]), {})
    print(answer.get("print", ""))
    if "exit" in answer: sys.exit(answer["exit"])
    return answer.get("return")
"""
TABLE = """
+-------+--------------------------------------+
|  Name |                 UUID                 |
+-------+--------------------------------------+
| cell0 | 00000000-0000-0000-0000-000000000000 |{}
+-------+--------------------------------------+
"""


def db_sync(
    directory: Path, **answers: dict[str, object]
) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """How the script ended, and what it asked; answers by the command's words, joined by underscores."""
    package = directory / "nova" / "cmd"
    package.mkdir(parents=True)
    (package / "manage.py").write_text(MANAGE)
    told = {"cell_v2 list_cells": {"print": TABLE.format("")}}
    told |= {name.replace("__", " "): answer for name, answer in answers.items()}
    (package / "answers.json").write_text(json.dumps(told))
    script = program(directory, "db-sync.py", scripts("nova")["db-sync.py"])
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"PYTHONPATH": str(directory), "DB_CONNECTION_CELL0": CELL0},
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=False,
    )
    assert (package / "read").read_text() == "x"
    return done, [json.loads(line) for line in (package / "asked").read_text().splitlines()]


def test_a_first_run_makes_both_cells(tmp_path: Path) -> None:
    done, asked = db_sync(tmp_path)
    assert done.returncode == 0, done.stderr
    assert [command[:2] for command in asked] == [
        ["api_db", "sync"],
        ["cell_v2", "map_cell0"],
        ["cell_v2", "list_cells"],
        ["cell_v2", "update_cell"],
        ["cell_v2", "create_cell"],
        ["db", "sync"],
        ["db", "online_data_migrations"],
    ]
    assert asked[3][2:4] == ["--cell_uuid", "00000000-0000-0000-0000-000000000000"]
    assert asked[3][4:] == [
        *("--name", "cell0", "--database_connection", CELL0),
        *("--transport-url", "none:///"),
    ]


def test_a_cell_that_is_there_follows_the_configuration(tmp_path: Path) -> None:
    row = "\n| cell1 | 11111111-1111-1111-1111-111111111111 |"
    done, asked = db_sync(tmp_path, cell_v2__list_cells={"print": TABLE.format(row)})
    assert done.returncode == 0, done.stderr
    cell = ["--cell_uuid", "11111111-1111-1111-1111-111111111111", "--name", "cell1"]
    assert asked[4] == ["cell_v2", "update_cell", *cell]


def test_a_schema_that_cannot_be_made_ends_it_and_no_password_is_reported(tmp_path: Path) -> None:
    for number, answer in enumerate(({"return": 2}, {"exit": 1})):
        done, asked = db_sync(tmp_path / str(number), cell_v2__map_cell0=answer)
        assert done.returncode == 1
        assert asked[-1][:2] == ["cell_v2", "map_cell0"]
        assert "nova-manage cell_v2 map_cell0 ended with" in done.stderr
        assert "nova:x" not in done.stdout + done.stderr


def test_data_that_cannot_move_yet_is_left_to_the_next_run(tmp_path: Path) -> None:
    done, _ = db_sync(tmp_path, db__online_data_migrations={"return": 1})
    assert done.returncode == 0, done.stderr
    assert "some data cannot move yet" in done.stdout
