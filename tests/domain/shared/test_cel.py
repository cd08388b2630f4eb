"""Expressions are read once, and what goes wrong with one is ours to tell."""

from __future__ import annotations

import subprocess
import sys

import pytest

from controller.domain.shared.cel import CelError, expression
from controller.domain.validation.definitions.cel_rules import holds


def test_what_is_no_expression_is_reported_with_its_text() -> None:
    with pytest.raises(CelError, match=r"'self\.a &&' is no expression"):
        expression("self.a &&")


def test_what_has_no_value_is_reported_and_breaks_a_rule() -> None:
    with pytest.raises(CelError, match="has no value"):
        expression("self.a == 1").value({"self": {}}, {})
    assert not holds("self.a == 1", {})


def test_a_rule_sees_fields_with_names_of_cel_itself_by_their_escaped_names() -> None:
    rule = "has(self.source) == has(self.__namespace__)"
    assert holds(rule, {"source": "a", "namespace": "b"}) and holds(rule, {})
    assert not holds(rule, {"namespace": "b"})


def test_a_rule_about_the_keys_of_a_map_sees_all_of_them() -> None:
    rule = "self.all(label, label.size() < 3)"
    assert holds(rule, {"a": 1, "bb": 2})
    assert not holds(rule, {"a": 1, "bbb": 2})


def test_the_command_line_of_the_package_is_not_loaded() -> None:
    code = (
        "import sys; from controller.domain.shared.cel import expression; "
        "assert expression('1 + 1').value({}, {}) == 2; print('prompt_toolkit' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
