"""Pods of a backup on loopback: their programs run one after the other, in directories of a test."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.cli.cluster import Cluster
from controller.domain.backups.backup_jobs import BackupParts, backup_cronjob, drill_cronjob
from controller.domain.backups.backup_record import BackupRecord, parse_record
from controller.domain.backups.backup_spec import parse_backup_spec
from sandbox.debian import unpack_packages
from sandbox.locks import locked
from sandbox.openstack.servers import ensure_servers, unpacked_root
from sandbox.patience import patient
from tests.cli.objects import osctl
from tests.fakes.kube import FakeKube
from tests.openstack.scratch_server import Server

DEBIAN = ("mariadb-client", "restic")
NAMESPACE, NAME = "openstack", "region-one"
_PATHS = re.compile(r"(?<![\w.])/((?:backup|client)(?:-[a-z]+)?|scratch|repository)(?=[/\s\"'})\]]|$)")
_DATABASE = {
    "spec": {
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "mariadb",
                        "image": "mariadb:1",
                        "env": [{"name": "MYSQL_DBADMIN_USERNAME", "value": "adm"}],
                    }
                ]
            }
        }
    }
}


def programs(place: Path) -> dict[str, str]:
    """The variables with which a shell finds the programs of all images."""
    server, root = ensure_servers(print), unpacked_root().with_name("backup-programs")
    with locked(root.parent / "backup-programs.lock", timeout=900):
        if not (root / "usr" / "bin" / "restic").exists():
            unpack_packages(DEBIAN, lambda name: name in DEBIAN, root)
    place.mkdir()
    own = " --user=root" if os.geteuid() == 0 else ""
    _program(place / "mariadbd", f'exec {server.mariadbd} "$@" --basedir={server.basedir}{own}')
    _program(place / "mariadb-install-db", f'exec {server.install_db} "$@" --basedir={server.basedir}{own}')
    environment = {**os.environ, **server.environment}
    environment["PATH"] = f"{place}:{root}/usr/bin:{environment['PATH']}"
    return environment


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


class Failed(Exception):
    """A container that failed, with its last lines."""


@dataclass
class Pods:
    """The pods of a region's backups. `top` is the root of their file systems."""

    top: Path
    environment: Mapping[str, str]
    server: Server
    backup: Mapping[str, Any]
    kube: FakeKube
    secrets: dict[str, Mapping[str, str]] = field(default_factory=dict)
    deadline: float = 300.0

    def run(self, what: str = "backup", **env: str) -> BackupRecord:
        """Runs a whole pod; its record. Raises Failed."""
        osdpl = {
            "metadata": {"name": NAME, "namespace": NAMESPACE, "uid": "u"},
            "spec": {"features": {"backup": self.backup}},
        }
        spec = parse_backup_spec(osdpl["spec"])
        assert spec is not None
        parts = BackupParts(spec, osdpl, _DATABASE, None, "controller:1")
        made = backup_cronjob(parts) if what == "backup" else drill_cronjob(parts)
        pod = made["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        self._volumes(pod)
        for container in (*pod["initContainers"], *pod["containers"]):
            self._container(container, env)
        found = parse_record((self.top / "record").read_text())
        assert found is not None
        return found

    def _volumes(self, pod: Mapping[str, Any]) -> None:
        (self.top / "record").unlink(missing_ok=True)
        for name in ("backup", "backup-keys", "client-keys", "scratch", "repository"):
            (self.top / name).mkdir(exist_ok=True)
        named = {one["name"]: one.get("secret") or {} for one in pod["volumes"]}
        mounts = [m for one in (*pod["initContainers"], *pod["containers"]) for m in one["volumeMounts"]]
        for mount in mounts:
            secret = named[mount["name"]].get("secretName")
            for key, text in self.secrets.get(secret, {}).items():
                place = self.top / mount["mountPath"].lstrip("/")
                place.mkdir(exist_ok=True)
                (place / key).write_text(text)

    def _container(self, container: Mapping[str, Any], more: Mapping[str, str]) -> None:
        command = list(container["command"])
        if command[0] == "osctl":
            ended = osctl(*(self._moved(text) for text in command[1:]))
            if ended.exit_code:
                raise Failed(f"{container['name']} {ended.exit_code}: {ended.stderr}")
            return
        env = {one["name"]: self._moved(str(one["value"])) for one in container["env"]}
        env |= {"RECORD": str(self.top / "record"), "DB_HOST": "127.0.0.1"} | more
        env["DB_PORT"] = self.server.environment["DB_PORT"]
        known = {key: text for key, text in self.environment.items() if not key.startswith(("RESTIC", "AWS"))}
        process = subprocess.Popen(
            ["sh", "-c", self._moved(command[2]), *command[3:]],
            env={**known, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=patient(self.deadline))
        except subprocess.TimeoutExpired:
            # As Kubernetes ends a Job that is past its deadline: all of its processes.
            os.killpg(process.pid, signal.SIGKILL)
            said = process.communicate()[0]
            raise Failed(f"{container['name']} past its deadline: {said[-2000:]}") from None
        if process.returncode:
            raise Failed(f"{container['name']} {process.returncode}: {said[-2000:]}")

    def _moved(self, text: str) -> str:
        return _PATHS.sub(lambda found: f"{self.top}{found[0]}", text)


def cluster(kube: FakeKube) -> Cluster:
    return Cluster(kube, NAMESPACE)
