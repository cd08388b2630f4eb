"""Scripts that templates write, run by bash with a client of OpenStack in a file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from controller.domain.values.written.federation import federation_commands
from controller.domain.values.written.texts import enable_new_compute
from sandbox.patience import patient

pytestmark = pytest.mark.slow

MAPPING = [{"local": [], "remote": []}]
HOST = "nova-compute-ironic-0"


class Shell:
    """Programs of a pod: `openstack` answers as the test says, `sleep` moves the clock that `date` reads."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._clock, self._asked = place / "clock", place / "asked"
        self._clock.write_text("1000")
        self._asked.write_text("")
        self._program("sleep", f"echo $(($(cat {self._clock}) + $1)) > {self._clock}")
        self._program("date", f"cat {self._clock}")
        self.answers("")

    def answers(self, script: str) -> None:
        """What `openstack` does, after it has noted its arguments."""
        self._program("openstack", f'echo "$*" >> {self._asked}\n{script}')

    def run(self, script: str) -> str:
        """What a script prints that ends well."""
        path = f"{self.place}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", script],
            env={"PATH": path},
            capture_output=True,
            text=True,
            timeout=patient(60),
            check=True,
        )
        return done.stdout

    @property
    def asked(self) -> list[str]:
        return self._asked.read_text().splitlines()

    @property
    def waited(self) -> int:
        """Seconds."""
        return int(self._clock.read_text()) - 1000

    def _program(self, name: str, text: str) -> None:
        program = self.place / name
        program.write_text(f"#!/bin/bash\n{text}\n")
        program.chmod(0o755)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def provider(issuer: str, metadata: dict[str, str] | None = None) -> dict[str, object]:
    return {"name": "corporate", "issuer": issuer, "mapping": MAPPING, "metadata": metadata}


def federation(*providers: dict[str, object]) -> str:
    return "\n".join(["set -e", *federation_commands(providers)])


def test_a_provider_that_is_not_there_is_made(shell: Shell) -> None:
    shell.answers('[[ "$*" != *" show "* ]]')
    shell.run(federation(provider("https://a.example.org")))
    assert "identity provider create --remote-id https://a.example.org corporate" in shell.asked
    assert not [one for one in shell.asked if " set " in one]


def test_one_that_is_there_gets_the_issuer_of_the_spec(shell: Shell) -> None:
    shell.run(federation(provider("https://b.example.org")))
    assert "identity provider set --remote-id https://b.example.org corporate" in shell.asked
    assert not [one for one in shell.asked if " create " in one]


def test_the_issuer_is_what_its_metadata_say_to_the_letter(shell: Shell) -> None:
    """Keystone compares what tokens say with it, the last slash included."""
    shell.run(federation(provider("https://a.example.org", {"issuer": "https://a.example.org/"})))
    assert "identity provider set --remote-id https://a.example.org/ corporate" in shell.asked


DISABLED = f"""case "$*" in
  *"Disabled Reason"*) echo "New compute service disabled due to config option." ;;
  *"service list"*) echo {HOST} ;;
esac"""
ENABLED = f"compute service set --enable {HOST} nova-compute"


def test_a_compute_service_that_reports_is_enabled(shell: Shell) -> None:
    shell.answers(DISABLED)
    shell.run(enable_new_compute(HOST))
    assert ENABLED in shell.asked
    assert shell.waited == 0


def test_one_that_an_operator_disabled_stays_so(shell: Shell) -> None:
    shell.answers(DISABLED.replace("New compute service disabled due to config option.", "broken"))
    shell.run(enable_new_compute(HOST))
    assert ENABLED not in shell.asked


@pytest.mark.parametrize("answer", ["", "exit 1"])
def test_one_that_does_not_come_up_holds_nothing_up_forever(shell: Shell, answer: str) -> None:
    shell.answers(answer)
    said = shell.run(enable_new_compute(HOST))
    assert shell.waited == 600
    assert f"{HOST} has not reported within 600 s" in said
    assert f"openstack {ENABLED}" in said
    assert ENABLED not in shell.asked
