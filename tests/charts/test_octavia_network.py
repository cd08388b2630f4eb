"""The script that makes the network of amphorae, with a command `openstack` that remembers."""

from __future__ import annotations

import base64
import io
import json
import os
import types
import urllib.request
from pathlib import Path

import pytest

from tests.chart_repositories.certificates import authority
from tests.charts.running import program
from tests.render.region import ROOT

SCRIPT = ROOT / "charts" / "octavia-network" / "files" / "network.py"
# Each kind of object is a list of what was made; a `list` answers what matches its options.
OPENSTACK = """#!/usr/bin/env python3
import json, os, pathlib, sys
file = pathlib.Path(os.environ["CLOUD"])
state = json.loads(file.read_text()) if file.exists() else {}
words = sys.argv[1:-2]
options = {a[2:]: b for a, b in zip(words, words[1:]) if a.startswith("--")}
kind = " ".join(words[: next(i for i, w in enumerate(words) if w in ("list", "create", "issue"))])
made = state.setdefault(kind, [])
if "issue" in words:
    print(json.dumps({"project_id": "admins"}))
elif "list" in words:
    keys = {"name": "Name", "device-owner": "owner", "protocol": "protocol"}
    wanted = {keys[k]: v for k, v in options.items() if k in keys}
    print(json.dumps([one for one in made if all(one.get(k) == v for k, v in wanted.items())]))
else:
    one = {"ID": f"{kind}-{len(made)}", "Name": words[-1], "owner": options.get("device-owner")}
    if kind == "port":
        one["Fixed IP Addresses"] = [{"ip_address": f"198.51.100.{10 + len(made)}"}]
    if kind == "security group rule":
        one |= {"protocol": options["protocol"], "Port Range": f"{options['dst-port']}:{options['dst-port']}"}
    made.append(one)
    file.write_text(json.dumps(state))
    print(json.dumps({"id": one["ID"]}))
"""


class Api:
    """Holds one Secret, as the API of Kubernetes does."""

    def __init__(self) -> None:
        self.secret: dict[str, str] = {}
        self.writes = 0

    def urlopen(self, request: urllib.request.Request, data: None = None, **_: object) -> io.BytesIO:
        assert request.get_header("Authorization") == "Bearer token"
        place = "https://192.0.2.1:443/api/v1/namespaces/openstack/secrets/octavia-network"
        assert request.full_url == place
        if request.method == "PATCH":
            assert isinstance(request.data, bytes)
            self.writes += 1
            self.secret |= json.loads(request.data)["data"]
        return io.BytesIO(json.dumps({"data": self.secret} if self.secret else {}).encode())

    @property
    def texts(self) -> dict[str, str]:
        return {key: base64.b64decode(text).decode() for key, text in self.secret.items()}


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def network(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    program(tmp_path / "bin", "openstack", OPENSTACK)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name, value in (
        ("CLOUD", str(tmp_path / "cloud.json")),
        ("KUBERNETES_SERVICE_HOST", "192.0.2.1"),
        ("KUBERNETES_SERVICE_PORT", "443"),
        ("NAMESPACE", "openstack"),
        ("SECRET", "octavia-network"),
        ("RANGE", "198.51.100.0/24"),
    ):
        monkeypatch.setenv(name, value)
    (tmp_path / "token").write_text("token")
    (tmp_path / "ca.crt").write_text(authority("test").ca)
    loaded = types.ModuleType("network")
    exec(compile(SCRIPT.read_text(encoding="utf-8"), str(SCRIPT), "exec"), loaded.__dict__)
    monkeypatch.setattr(loaded, "ACCOUNT", str(tmp_path))
    monkeypatch.setattr("urllib.request.urlopen", api.urlopen)
    return loaded


def cloud(tmp_path: Path) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = json.loads((tmp_path / "cloud.json").read_text())
    return found


def objects(network: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["network.py", "objects"])
    network.main()


@pytest.mark.slow
def test_what_is_missing_is_made_once_and_its_ids_are_published(
    network: types.ModuleType, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects(network, monkeypatch)
    made = cloud(tmp_path)
    assert {kind: len(found) for kind, found in made.items() if found} == {
        **{"network": 1, "subnet": 1, "security group": 2, "security group rule": 2, "flavor": 1},
    }
    assert api.texts == {
        **{"network": "network-0", "security-group": "security group-0"},
        **{"flavor": "flavor-0", "image-owner": "admins"},
    }
    objects(network, monkeypatch)
    assert cloud(tmp_path) == made
    assert api.writes == 1


@pytest.mark.slow
def test_each_node_makes_its_ports_and_informs_all_health_managers(
    network: types.ModuleType, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert network.look("net1.example.org") is False  # before the Job has made the network
    objects(network, monkeypatch)
    assert network.look("net1.example.org") is True
    assert network.look("net2.example.org") is True
    assert network.look("net1.example.org") is True
    names = [port["Name"] for port in cloud(tmp_path)["port"]]
    assert names == [
        *("octavia-worker-port-net1", "octavia-health-manager-port-net1"),
        *("octavia-worker-port-net2", "octavia-health-manager-port-net2"),
    ]
    assert api.texts["health-managers"] == "198.51.100.11:5555,198.51.100.13:5555"
    assert api.writes == 3
    assert api.texts["network"] == "network-0"


@pytest.mark.slow
def test_an_error_of_openstack_is_reported_with_what_was_asked(
    network: types.ModuleType, tmp_path: Path
) -> None:
    program(tmp_path / "bin", "openstack", "#!/bin/sh\necho no route to Keystone >&2\nexit 1\n")
    with pytest.raises(RuntimeError, match="openstack token issue: no route to Keystone"):
        network.ensure_objects("198.51.100.0/24")
