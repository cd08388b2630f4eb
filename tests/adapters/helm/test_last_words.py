"""What is told of a process of Helm that ends without an answer."""

from __future__ import annotations

import pytest

from controller.adapters.helm.conversation import last_words


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            "W1126 a warning\npanic: runtime error: out of range\n\ngoroutine 1 [running]:\nmain.main()\n",
            "panic: ",
        ),
        (
            "fatal error: runtime: out of memory\n\nruntime.call16(0x3d)\n\t/usr/asm.s:835 +0x3a\n",
            "fatal error: ",
        ),
        ('a remark\nunknown command "work" for "helm"\n', "unknown command"),
        ("", ""),
    ],
)
def test_the_line_that_names_the_cause_is_told_and_no_stack(error: str, told: str) -> None:
    assert last_words(error).startswith(told)
    assert "\n" not in last_words(error)
