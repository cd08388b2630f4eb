"""Names, places, locks, state and certificates of a sandbox."""

from __future__ import annotations

import fcntl
import stat
import threading
from pathlib import Path

import pytest
from cryptography import x509

from sandbox import cluster
from sandbox.certificates import CLIENTS, ensure_certificates
from sandbox.errors import SandboxError
from sandbox.locks import locked
from sandbox.paths import Layout, sandbox_directory, state_root
from sandbox.ports import Ports
from sandbox.state import State, count_nodes, read_state, write_state
from sandbox.take_down import take_down


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "-a", "a" * 64, "a\nb"])
def test_a_name_that_could_leave_its_place_is_refused(name: str) -> None:
    with pytest.raises(SandboxError, match="cannot name a sandbox"):
        sandbox_directory(name)


def test_sandboxes_lie_in_the_state_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert sandbox_directory("one") == tmp_path / "openstack-controller" / "sandboxes" / "one"


def test_a_relative_state_home_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert state_root() == tmp_path / "openstack-controller" / "sandboxes"


def test_state_is_read_back_as_written(tmp_path: Path) -> None:
    state = State("one", "small", Ports(1, 2, 3, 4, 5, 6), nodes=2)
    write_state(tmp_path / "box" / "sandbox.json", state)
    assert read_state(tmp_path / "box" / "sandbox.json") == state


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"name": "x", "profile": "y", "ports": {}}'])
def test_a_file_that_is_no_state_is_named_in_the_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "sandbox.json").write_text(content)
    with pytest.raises(SandboxError, match="is not the state of a sandbox"):
        read_state(tmp_path / "sandbox.json")


@pytest.mark.parametrize(
    ("has", "real", "wanted", "expected"),
    [
        (None, False, None, 0),
        (None, True, None, 1),
        (None, True, 2, 2),
        (0, False, None, 0),
        (2, False, None, 2),
        (2, True, None, 2),
        (2, True, 2, 2),
    ],
)
def test_a_sandbox_keeps_its_number_of_real_nodes(
    has: int | None, real: bool, wanted: int | None, expected: int
) -> None:
    existing = None if has is None else State("one", "none", Ports(1, 2, 3, 4, 5, 6), nodes=has)
    assert count_nodes(existing, "one", real, wanted) == expected


@pytest.mark.parametrize(
    ("has", "real", "wanted", "message"),
    [
        (None, True, 4, "has 1 to 3 of them, not 4"),
        (None, True, 0, "has 1 to 3 of them, not 0"),
        (None, False, 2, "has 1 to 3 of them, not 2"),
        (0, True, None, 'sandbox "one" has no real node; to change that'),
        (1, True, 2, 'sandbox "one" has 1 real node; to change that'),
        (2, True, 1, 'sandbox "one" has 2 real nodes; to change that'),
    ],
)
def test_another_number_of_real_nodes_is_refused(
    has: int | None, real: bool, wanted: int | None, message: str
) -> None:
    existing = None if has is None else State("one", "none", Ports(1, 2, 3, 4, 5, 6), nodes=has)
    with pytest.raises(SandboxError, match=message):
        count_nodes(existing, "one", real, wanted)


def test_a_directory_with_other_files_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(SandboxError, match="is not empty and holds no sandbox"):
        cluster.Sandbox.up("one", tmp_path)


def test_the_draft_of_a_start_that_was_killed_is_no_foreign_file(tmp_path: Path) -> None:
    (tmp_path / ".sandbox.json.12").write_text("{")
    cluster._refuse_foreign(Layout(tmp_path))


def test_taking_down_what_was_never_up_leaves_everything_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    assert not take_down("one", tmp_path)
    assert not take_down("one", tmp_path / "missing")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_taking_down_under_a_wrong_name_is_refused(tmp_path: Path) -> None:
    write_state(tmp_path / "box" / "sandbox.json", State("one", "single", Ports(1, 2, 3, 4, 5, 6)))
    with pytest.raises(SandboxError, match='is the sandbox "one", not "two"'):
        take_down("two", tmp_path / "box")
    assert (tmp_path / "box" / "sandbox.json").exists()


def test_taking_down_finishes_a_removal_that_was_killed(tmp_path: Path) -> None:
    box = tmp_path / "box"
    write_state(box / "sandbox.json", State("one", "single", Ports(1, 2, 3, 4, 5, 6)))
    (box / "etcd").mkdir()
    (box / "etcd" / "db").write_text("half")
    assert take_down("one", box)
    assert list(tmp_path.iterdir()) == []


def test_the_last_one_down_leaves_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("one", "two"):
        write_state(sandbox_directory(name) / "sandbox.json", State(name, "single", Ports(1, 2, 3, 4, 5, 6)))
    take_down("one")
    assert sandbox_directory("two").exists()
    take_down("two")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_keeps_a_second_holder_out_until_its_deadline(tmp_path: Path) -> None:
    waited: list[bool] = []
    path = tmp_path / "lock"
    with (
        locked(path, timeout=1),
        pytest.raises(SandboxError, match="another process has held"),
        locked(path, timeout=0.2, on_wait=lambda: waited.append(True)),
    ):
        pass
    assert waited == [True]


def test_a_lock_file_removed_by_its_holder_does_not_let_two_in(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    inside = 0
    most = 0
    guard = threading.Lock()

    def enter() -> None:
        nonlocal inside, most
        for _ in range(30):
            with locked(path, timeout=30, remove=True):
                with guard:
                    inside += 1
                    most = max(most, inside)
                with guard:
                    inside -= 1

    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert not path.exists()


def test_a_lock_taken_on_a_file_just_removed_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    lock_file = fcntl.flock
    calls = 0

    def holder_leaves_first(descriptor: int, operation: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            path.unlink()
        lock_file(descriptor, operation)

    monkeypatch.setattr("sandbox.locks.fcntl.flock", holder_leaves_first)
    with locked(path, timeout=1):
        assert path.exists()
    assert calls == 2


def test_certificates_are_made_once_and_keys_are_private(tmp_path: Path) -> None:
    ensure_certificates(tmp_path / "pki")
    before = (tmp_path / "pki" / "admin.crt").read_bytes()
    ensure_certificates(tmp_path / "pki")
    assert (tmp_path / "pki" / "admin.crt").read_bytes() == before
    for key in (tmp_path / "pki").glob("*.key"):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_certificates_half_made_are_made_again(tmp_path: Path) -> None:
    ensure_certificates(tmp_path / "pki")
    (tmp_path / "pki" / "complete").unlink()
    (tmp_path / "pki" / "server.key").unlink()
    ensure_certificates(tmp_path / "pki")
    assert (tmp_path / "pki" / "server.key").exists()


def test_each_component_is_a_user_of_its_own(tmp_path: Path) -> None:
    ensure_certificates(tmp_path / "pki")
    users = set()
    for client in CLIENTS:
        certificate = x509.load_pem_x509_certificate((tmp_path / "pki" / f"{client}.crt").read_bytes())
        users.add(certificate.subject.rfc4514_string())
    assert len(users) == len(CLIENTS)


def test_the_lock_lies_beside_the_directory(tmp_path: Path) -> None:
    assert Layout(tmp_path / "box").lock == tmp_path / ".box.lock"
