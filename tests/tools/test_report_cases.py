"""Cases say in their first line what is right, and the tool tells which came out so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.report_cases import Case, Result, cases, inputs, judge


def case(expected: str, content: str = "") -> Case:
    return Case(Path("01-it.yaml"), expected, content)


def result(*lines: str, code: int = 0) -> Result:
    return Result(code, lines)


VALID = result("warning: spec.features.x: something else", "x is valid")
REFUSED = result('error: spec.services.a: "fixed_key" is a secret of key_manager.fixed_key', code=3)
WARNED = result("warning: spec.services.compute.nova.values.conf: it has no effect", "x is valid")


@pytest.mark.parametrize(
    ("expected", "seen", "right"),
    [
        ("`osctl validate` accepts: nothing", VALID, True),
        ("`osctl validate` accepts: nothing", REFUSED, False),
        ("refused, one error for: key_manager.fixed_key.", REFUSED, True),
        ("refused, one error for: key_manager.fixed_key, vault.root_token_id.", REFUSED, False),
        ("refused (with the label and why), or installed", VALID, False),
        ("a warning or an error: the text has two lines", WARNED, True),
        ("a warning: nothing reads these", VALID, False),
        ('accepted without "did you mean": all are options', WARNED, True),
        ('accepted without "did you mean": all', result('warning: x; did you mean "y"?'), False),
        ('accepted, with a warning that this build has no endpoint "oslo_db_api"', VALID, False),
        ("tells that pods wait for Job cinder-db-init and Service memcached-ha", WARNED, False),
        (
            "tells that pods wait for Job cinder-db-init and Service memcached-ha",
            result("warning: Job cinder-db-init, Service memcached-ha: no release makes them"),
            True,
        ),
        ("numbers reach nova.conf as 10000000 and not 1e+07", result("a = 10000000"), True),
        ("numbers reach nova.conf as 10000000 and not 1e+07", result("a = 1e+07"), False),
    ],
)
def test_a_first_line_decides(expected: str, seen: Result, right: bool) -> None:
    assert judge(case(expected), [seen]) is right


def test_every_input_of_a_case_has_to_come_out_so() -> None:
    assert not judge(case("`osctl validate` warns"), [WARNED, VALID])


def test_what_needs_a_cluster_is_not_run() -> None:
    assert case("refused", "kubectl apply -f -").why_not == "it needs a cluster"
    assert case("it is blue").why_not and not case("refused").why_not


def test_programs_print_their_inputs_with_the_place_of_the_charts(tmp_path: Path) -> None:
    (tmp_path / "03-made.sh").write_text("# EXPECT: refused\necho chart @CHARTS@\n", encoding="utf-8")
    (tmp_path / "04-kinds.py").write_text(
        "# EXPECT: warns. Argument: one, two or three.\nimport sys\nprint(sys.argv[1])\n", encoding="utf-8"
    )
    (tmp_path / "notes.yaml").write_text("# nothing\n", encoding="utf-8")
    shell, python = cases(tmp_path)
    assert list(inputs(shell, "/charts", tmp_path)) == ["chart /charts\n"]
    assert list(inputs(python, "/charts", tmp_path)) == ["one\n", "two\n", "three\n"]
