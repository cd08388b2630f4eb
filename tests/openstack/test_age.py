"""Sealed files and the program age: each opens what the other has written."""

from __future__ import annotations

import os
import pty
import select
import time
from pathlib import Path

import pytest

from controller.adapters.system.randomness import SystemRandomness
from controller.domain.credentials.sealing.sealed_file import seal, unseal
from sandbox.debian import unpack_packages
from sandbox.locks import locked
from sandbox.openstack.servers import unpacked_root
from sandbox.patience import patient

pytestmark = [pytest.mark.openstack, pytest.mark.timeout(300)]

WORDS = "correct horse battery"
CONTENT = b'{"a": "secret text"}\n' * 10_000


@pytest.fixture(scope="module")
def age() -> Path:
    root = unpacked_root().with_name("age-program")
    with locked(root.with_name("age-program.lock"), timeout=900):
        if not (root / "usr" / "bin" / "age").exists():
            unpack_packages(("age",), lambda name: name == "age", root)
    return root / "usr" / "bin" / "age"


def run(command: list[str], passphrase: str) -> int:
    """Its exit code; it asks for the passphrase on its terminal."""
    pid, terminal = pty.fork()
    if not pid:
        os.execv(command[0], command)
    deadline = time.monotonic() + patient(60)
    while True:
        assert time.monotonic() < deadline
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            said = os.read(terminal, 4096)
        except OSError:  # it has ended
            break
        if b"passphrase" in said.lower() and b":" in said:
            os.write(terminal, passphrase.encode() + b"\n")
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_age_opens_what_is_sealed(age: Path, tmp_path: Path) -> None:
    file, opened = tmp_path / "sealed", tmp_path / "opened"
    file.write_bytes(seal(CONTENT, WORDS, SystemRandomness()))
    assert run([str(age), "--decrypt", "--output", str(opened), str(file)], WORDS) == 0
    assert opened.read_bytes() == CONTENT
    assert run([str(age), "--decrypt", "--output", str(tmp_path / "no"), str(file)], "another one") != 0


@pytest.mark.parametrize("armor", [[], ["--armor"]])
def test_what_age_has_sealed_is_opened(age: Path, tmp_path: Path, armor: list[str]) -> None:
    file, plain = tmp_path / "sealed", tmp_path / "plain"
    plain.write_bytes(CONTENT)
    assert run([str(age), "--passphrase", *armor, "--output", str(file), str(plain)], WORDS) == 0
    assert unseal(file.read_bytes(), WORDS) == CONTENT
