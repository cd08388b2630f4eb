"""Ports are free when they are chosen, and each listener gets its own."""

from __future__ import annotations

import dataclasses
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import cluster, ports
from sandbox.build import Binaries
from sandbox.control_plane import Component
from sandbox.errors import SandboxError
from sandbox.paths import SOURCE, Layout
from sandbox.ports import claim
from sandbox.state import State, read_state

ROOT = SOURCE.parent
# Below the first that is ever given: no sandbox beside us has it. Drawn, for other checkouts run this too.
UNUSED = random.SystemRandom().randrange(10_000, ports.FIRST_PORT - 10)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A socket that listens on some port of 127.0.0.1."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        yield taken


def test_a_port_that_someone_listens_on_is_not_free(listener: socket.socket) -> None:
    assert not ports.is_free(listener.getsockname()[1])


def test_a_port_listened_on_at_all_addresses_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen(1)
        assert not ports.is_free(taken.getsockname()[1])


def test_every_listener_of_a_control_plane_gets_a_port_of_its_own() -> None:
    chosen = dataclasses.astuple(ports.find_free_ports())
    assert len(set(chosen)) == len(chosen)
    assert all(ports.FIRST_PORT <= port <= ports.LAST_PORT for port in chosen)


def test_a_taken_port_is_passed_over(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = listener.getsockname()[1]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    answers = iter([taken, free])
    monkeypatch.setattr(ports.random.SystemRandom, "randint", lambda *_: next(answers))
    assert ports.find_free_port() == free


def test_no_free_port_is_an_error_with_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda _: False)
    with pytest.raises(SandboxError, match="no free port between 20000 and 32000"):
        ports.find_free_port()


def test_a_port_chosen_for_another_listener_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([25000, 25001])
    monkeypatch.setattr(ports.random.SystemRandom, "randint", lambda *_: next(answers))
    monkeypatch.setattr(ports, "is_free", lambda _: True)
    monkeypatch.setattr(ports, "claim", lambda _: True)
    assert ports.find_free_port([25000]) == 25001


def test_a_port_that_was_given_and_is_not_bound_yet_is_not_given_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([UNUSED, UNUSED, UNUSED + 1])
    monkeypatch.setattr(ports.random.SystemRandom, "randint", lambda *_: next(answers))
    monkeypatch.setattr(ports, "is_free", lambda _: True)
    assert [ports.find_free_port(), ports.find_free_port()] == [UNUSED, UNUSED + 1]


@pytest.mark.slow
def test_a_port_that_another_process_was_given_is_not_given_here() -> None:
    number = UNUSED + 2
    script = f"from sandbox import ports; print(ports.claim({number}), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert not claim(number)
        process.communicate("\n")
    assert claim(number)


def test_listeners_share_no_port_even_if_the_same_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = iter(port for pair in range(25000, 25100) for port in (pair, pair))
    monkeypatch.setattr(ports.random.SystemRandom, "randint", lambda *_: next(draws))
    monkeypatch.setattr(ports, "is_free", lambda _: True)
    chosen = dataclasses.astuple(ports.find_free_ports())
    assert len(set(chosen)) == len(chosen)


def test_a_control_plane_whose_port_was_taken_starts_with_other_ports(
    listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has taken the port since it was chosen. No server is started here."""
    layout = Layout(tmp_path / "life")
    layout.directory.mkdir()
    taken = listener.getsockname()[1]
    chosen = dataclasses.replace(ports.find_free_ports(), scheduler=taken)
    started: list[str] = []

    def note(_: cluster.Sandbox, component: Component, *_deadline: float) -> None:
        assert taken not in component.ports
        started.append(component.name)

    monkeypatch.setattr(cluster, "write_stages", lambda *_, **__: None)
    monkeypatch.setattr(cluster, "ensure_certificates", lambda _: None)
    monkeypatch.setattr(cluster, "write_kubeconfigs", lambda *_: None)
    monkeypatch.setattr(cluster.Sandbox, "_ensure_objects", lambda *_: None)
    monkeypatch.setattr(cluster.Sandbox, "_ensure_healthy", note)
    monkeypatch.setattr(cluster.Sandbox, "_start", note)
    box = cluster.Sandbox(layout, State("life", "single", chosen, False, 0), Binaries(*[tmp_path] * 5))
    said: list[str] = []
    box._ensure_up(0.0, said.append)
    assert f"port {taken} of kube-scheduler is taken; trying other ports" in said
    assert set(started) == set(box.component_names)
    assert taken not in dataclasses.astuple(box.state.ports)
    assert read_state(layout.state) == box.state
