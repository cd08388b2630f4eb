"""Which modules pytest need not import."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.changed.__main__ import FAST
from tests.selection import FAR
from tests.selection import SERVERS as WITH_SERVERS
from tests.unasked import ROOT, may_be_asked

SERVERS = "(cluster or slow) and not openstack"


@pytest.mark.parametrize(
    ("module", "expression", "expected"),
    [
        ("tests/cluster/regions/test_region.py", FAST, False),
        ("tests/cluster/regions/test_region.py", SERVERS, True),
        ("tests/changed/test_selection.py", FAST, True),
        ("tests/upstream/test_rights.py", SERVERS, False),
        # One mark among several, and some of its tests only.
        ("tests/reconcile/hosts/test_fencing_confirmation.py", "exhaustive", True),
        ("tests/reconcile/hosts/test_fencing_confirmation.py", FAST, False),
        # The mark is that of a fixture in a module that it imports.
        ("tests/contract/test_kube.py", "cluster", True),
        # Marks that are given to tests elsewhere: by a plug-in, for one.
        ("tests/upstream/test_rights.py", "hypothesis", True),
    ],
)
def test_a_module_is_imported_if_a_test_of_it_may_be_asked_for(
    module: str, expression: str, expected: bool
) -> None:
    assert may_be_asked(ROOT / module, expression) is expected


def test_the_fast_tests_are_those_of_plain_pytest() -> None:
    """A mark that only one of them leaves out would build an image, or start servers, in the other."""
    assert {one.removeprefix("not ") for one in FAST.split(" and ")} == {*FAR, *WITH_SERVERS}
    assert f'-m "{FAST}"' in (ROOT / "Makefile").read_text()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "expression", [FAST, SERVERS, "exhaustive", "upstream", "real", "image", "openstack"]
)
def test_no_test_is_lost(expression: str) -> None:
    assert _collected(expression) == _collected(expression, "-p", "no:tests.unasked")


def _collected(expression: str, *options: str) -> set[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--collect-only", *options, "-m", expression]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert re.search(r"\d tests? collected|\d/\d+ tests collected", done.stdout)
    return {line for line in done.stdout.splitlines() if "::" in line}
