"""osctl credentials backup and restore against an API server in memory."""

from __future__ import annotations

import base64
import functools
from pathlib import Path
from typing import Any

import pytest

from controller.cli.cluster import Cluster
from controller.cli.commands import credentials_backup
from controller.domain.api.names import API_VERSION, WRITTEN_ANNOTATION
from controller.domain.credentials.sealing import sealed_file
from controller.ports.kubernetes import SECRET
from tests.cli.commands.test_apply import CRDS
from tests.cli.objects import osctl
from tests.fakes.kube import FakeKube

PLANTED = "planted-text-of-a-credential"
NAME = "identity-credentials"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def put(kube: FakeKube, name: str, namespace: str = "openstack", type_: str = "Opaque", **texts: str) -> None:
    meta = {"name": name, "namespace": namespace}
    data = {key: encoded(text) for key, text in texts.items()}
    kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": type_, "data": data})


@pytest.fixture
def kube(monkeypatch: pytest.MonkeyPatch) -> FakeKube:
    fake = FakeKube()
    for crd in CRDS:
        fake.serve(crd)
    monkeypatch.setattr(
        "controller.cli.commands.credentials_backup.open_cluster",
        lambda _, __, namespace: Cluster(fake, namespace),
    )
    # The real one takes half a second.
    monkeypatch.setattr(sealed_file, "_LEAST_COST", 16)
    monkeypatch.setattr(credentials_backup, "seal", functools.partial(sealed_file.seal, cost=16))
    meta = {"name": "region-one", "namespace": "openstack"}
    spec = {"openstackVersion": "2026.1", "preset": "core", "size": "single", "publicDomainName": "x.org"}
    fake.create({"apiVersion": API_VERSION, "kind": "OpenStackDeployment", "metadata": meta, "spec": spec})
    put(fake, NAME, password=PLANTED)
    put(fake, "sh.helm.release.v1.nova.v1", type_="helm.sh/release.v1", release=PLANTED)
    return fake


@pytest.fixture
def words(tmp_path: Path) -> str:
    file = tmp_path / "words"
    file.write_text("correct horse battery\n")
    return str(file)


@pytest.fixture
def taken(kube: FakeKube, words: str, tmp_path: Path) -> str:
    file = tmp_path / "backup"
    result = osctl("credentials", "backup", str(file), "--passphrase-file", words)
    assert result.exit_code == 0, result.output
    assert "1 Secret of namespace openstack" in result.output
    return str(file)


def texts(kube: FakeKube, name: str, namespace: str = "openstack") -> dict[str, str]:
    found: Any = kube.get(SECRET, name, namespace)
    return {key: base64.b64decode(text).decode() for key, text in found["data"].items()}


def test_the_file_is_for_its_owner_alone_and_shows_nothing(taken: str) -> None:
    assert Path(taken).stat().st_mode & 0o777 == 0o600
    content = Path(taken).read_bytes()
    assert PLANTED.encode() not in content and encoded(PLANTED).encode() not in content
    assert [one.name for one in Path(taken).parent.iterdir() if one.name.startswith(".")] == []


def test_it_is_restored_into_an_empty_namespace(kube: FakeKube, taken: str, words: str) -> None:
    result = osctl("credentials", "restore", taken, "-n", "other", "--passphrase-file", words)
    assert result.exit_code == 0, result.output
    assert texts(kube, NAME, "other") == {"password": PLANTED}
    assert "created" in result.output and PLANTED not in result.output


def test_without_a_namespace_it_goes_where_it_was_taken_and_not_where_the_context_points(
    kube: FakeKube, taken: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "controller.cli.commands.credentials_backup.open_cluster",
        lambda _, __, namespace: Cluster(kube, namespace or "of-the-context"),
    )
    kube.delete(SECRET, NAME, "openstack")
    result = osctl("credentials", "restore", taken, "--passphrase-file", words)
    assert result.exit_code == 0, result.output
    assert "into namespace openstack" in result.output
    assert texts(kube, NAME, "openstack") == {"password": PLANTED}
    assert kube.get(SECRET, NAME, "of-the-context") is None


def test_a_second_time_nothing_is_written(kube: FakeKube, taken: str, words: str) -> None:
    kube.forget_requests()
    result = osctl("credentials", "restore", taken, "--passphrase-file", words)
    assert result.exit_code == 0 and "as it is" in result.output
    assert kube.writes == []


def test_a_dry_run_writes_nothing(kube: FakeKube, taken: str, words: str) -> None:
    result = osctl("credentials", "restore", taken, "-n", "other", "--dry-run", "--passphrase-file", words)
    assert result.exit_code == 0 and "created" in result.output
    assert kube.get(SECRET, NAME, "other") is None


def test_what_differs_stops_all_of_it(kube: FakeKube, words: str, tmp_path: Path) -> None:
    put(kube, "another", key="text")
    file = str(tmp_path / "backup")
    assert osctl("credentials", "backup", file, "--passphrase-file", words).exit_code == 0
    put(kube, NAME, "other", password="changed")
    command = ("credentials", "restore", file, "-n", "other", "--passphrase-file", words)
    result = osctl(*command)
    assert result.exit_code == 6 and f"nothing was written: {NAME} differ" in result.output
    assert kube.get(SECRET, "another", "other") is None

    assert osctl(*command, "--secret", "another").exit_code == 0
    assert texts(kube, NAME, "other") == {"password": "changed"}
    notes = {"metadata": {"annotations": {WRITTEN_ANNOTATION: "{}", "of": "others"}}}
    kube.merge_patch(SECRET, NAME, "other", notes)
    assert osctl(*command, "--overwrite", NAME).exit_code == 0
    assert texts(kube, NAME, "other") == {"password": PLANTED}
    # What the controller has written there it is not to compare with this.
    found: Any = kube.get(SECRET, NAME, "other")
    assert found["metadata"]["annotations"] == {"of": "others"}


def test_a_key_that_was_lost_comes_back_beside_those_that_are_there(
    kube: FakeKube, taken: str, words: str
) -> None:
    live: Any = kube.get(SECRET, NAME, "openstack")
    kube.replace({**live, "data": {"new": encoded("new")}})
    assert osctl("credentials", "restore", taken, "--passphrase-file", words).exit_code == 0
    assert texts(kube, NAME) == {"new": "new", "password": PLANTED}


def test_another_passphrase_is_an_error_that_shows_nothing(
    kube: FakeKube, taken: str, tmp_path: Path
) -> None:
    result = osctl("credentials", "restore", taken, "--passphrase-file", "-", input="another one, and long\n")
    assert result.exit_code == 3
    assert f"{taken}: the passphrase is wrong, or the file was changed" in result.output


def test_a_file_that_is_there_is_not_overwritten(kube: FakeKube, taken: str, words: str) -> None:
    before = Path(taken).read_bytes()
    assert osctl("credentials", "backup", taken, "--passphrase-file", words).exit_code == 2
    assert Path(taken).read_bytes() == before


def test_a_short_passphrase_is_refused(kube: FakeKube, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    result = osctl("credentials", "backup", str(file), "--passphrase-file", "-", input="short\n")
    assert result.exit_code == 2 and "12 characters" in result.output
    assert not file.exists()


def test_without_a_terminal_a_file_has_to_be_named(kube: FakeKube, tmp_path: Path) -> None:
    result = osctl("credentials", "backup", str(tmp_path / "backup"))
    assert result.exit_code == 2 and "no terminal" in result.output


def test_names_that_the_backup_does_not_have_are_refused(kube: FakeKube, taken: str, words: str) -> None:
    result = osctl("credentials", "restore", taken, "--secret", "typo", "--passphrase-file", words)
    assert result.exit_code == 2 and "no Secret typo" in result.output


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given as input is typed by a person."""
    monkeypatch.setattr("controller.cli.commands.credentials_backup._has_terminal", lambda: True)


@pytest.mark.usefixtures("terminal")
def test_at_a_terminal_a_new_passphrase_is_asked_for_twice(kube: FakeKube, tmp_path: Path) -> None:
    file, words = str(tmp_path / "backup"), "correct horse battery\n"
    made = osctl("credentials", "backup", file, input=words * 2)
    assert made.exit_code == 0 and "horse" not in made.output
    assert osctl("credentials", "restore", file, "-n", "other", input=words).exit_code == 0
    assert texts(kube, NAME, "other") == {"password": PLANTED}


@pytest.mark.usefixtures("kube", "terminal")
def test_an_interrupted_question_ends_as_any_interruption(tmp_path: Path) -> None:
    assert osctl("credentials", "backup", str(tmp_path / "backup"), input="").exit_code == 130
    assert not (tmp_path / "backup").exists()
