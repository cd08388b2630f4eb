"""One pod of a Deployment as processes of this machine, as a kubelet would have made them.

Each container has its image's root file system, read-only, or this machine's own; the user that its security
context says, of whom no passwd file knows; the environment that image and Deployment say, and no more; its
volumes; the files of its ServiceAccount; a process namespace in which it is number 1. The network is this
machine's.
"""

from __future__ import annotations

import http.client
import json
import os
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sandbox import processes
from sandbox.controllers import Cluster
from sandbox.errors import SandboxError
from sandbox.image import mounts
from sandbox.image.dockerfile import Image
from sandbox.paths import SOURCE

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
# Whoever becomes another user is no longer killed with its parent, unless it asks for that again.
_ENDS_WITH_US = "setpriv --pdeathsig=KILL"
# Shells know descriptors of one digit; ours are at most three.
_FIRST_DESCRIPTOR = 7
# Of the machine's own file systems, those that a container has of its own in any case.
_NOT_OURS = ("/proc", "/sys", "/dev")


class Pod:
    """The first pod of `deployment` (as the API server has it), its files in `directory`.

    `image` None: the containers run on this machine's own files, all of them read-only, in a user namespace,
    and need no privileges; this process's own Python is first in their PATH.
    """

    def __init__(
        self, cluster: Cluster, deployment: Mapping[str, Any], directory: Path, image: Image | None
    ) -> None:
        meta, self._spec = deployment["metadata"], deployment["spec"]["template"]["spec"]
        self.name, self.namespace = f"{meta['name']}-0", str(meta["namespace"])
        self.containers = {str(one["name"]): one for one in self._spec["containers"]}
        self._cluster = cluster
        self._directory = directory.resolve()
        self._image = image
        self._server = ""

    def start(self) -> None:
        """Starts every container, with a token that is valid for a day."""
        self._directory.mkdir(parents=True, exist_ok=True)
        # What a container may read, others may pass through.
        self._write_account()
        for name in self.containers:
            self._start(name)

    def stop(self, grace: float | None = None) -> None:
        """As the kubelet ends a pod: SIGTERM to each, and SIGKILL for what is left after the grace period."""
        seconds = float(self._spec["terminationGracePeriodSeconds"]) if grace is None else grace
        firsts = [first for name in self.containers if (first := self._first(name)) is not None]
        processes.stop_processes(firsts, grace=seconds)
        for name in self.containers:
            if (outer := self._outer(name)) is not None:
                processes.stop_processes([outer])

    def signal(self, name: str, number: signal.Signals) -> None:
        """Sends a signal to the first process of the container."""
        if (first := self._first(name)) is not None:
            descriptor = processes.send_signal(first, number)
            if descriptor is not None:
                os.close(descriptor)

    def ended(self, name: str) -> int | None:
        """The code with which the container has ended; None while it runs."""
        identity = processes.read_pid_file(self._pid_file(name))
        if identity is None or processes.is_running(identity):
            return None
        return processes.exit_code(identity.pid)

    def answers(self, name: str, probe: str) -> bool:
        """Whether the container's `probe`, such as readinessProbe, succeeds."""
        container = self.containers[name]
        asked = container[probe]
        ports = {one.get("name"): one["containerPort"] for one in container["ports"]}
        port = asked["httpGet"]["port"]
        connection = http.client.HTTPConnection(
            "127.0.0.1", int(ports.get(port, port)), timeout=float(asked.get("timeoutSeconds", 1))
        )
        try:
            connection.request("GET", asked["httpGet"]["path"])
            return 200 <= connection.getresponse().status < 400
        except (http.client.HTTPException, OSError):
            return False
        finally:
            connection.close()

    def log(self, name: str) -> str:
        """What the container has written."""
        path = self._log_file(name)
        return path.read_text(errors="replace") if path.exists() else ""

    # -- parts --------------------------------------------------------------------------------------

    def _write_account(self) -> None:
        """The files of the ServiceAccount, as the kubelet projects them into each container."""
        kubeconfig = self._cluster.service_account_kubeconfig(
            self.namespace, str(self._spec["serviceAccountName"]), self._directory
        )
        document = json.loads(kubeconfig.read_text())
        cluster = document["clusters"][0]["cluster"]
        self._server = str(cluster["server"])
        place = self._directory / "account"
        place.mkdir(exist_ok=True)
        (place / "token").write_text(Path(document["users"][0]["user"]["tokenFile"]).read_text())
        (place / "ca.crt").write_text(Path(cluster["certificate-authority"]).read_text())
        (place / "namespace").write_text(self.namespace)

    def _start(self, name: str) -> None:
        container = self.containers[name]
        environment = self._environment(container)
        # What mounts lies in places that the PATH of a container need not name.
        tools = "set -eu\ntheirs=$PATH\nPATH=$PATH:/usr/sbin:/sbin"
        mounted = self._in_place(container) if self._image is None else self._in_root(container, self._image)
        script = "\n".join((tools, *mounted))
        unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
        if self._image is None:
            unshare.append("--map-root-user")
        identity = processes.start_process(
            [*unshare, "sh", "-c", script, name],
            log=self._log_file(name),
            owner=self._directory,
            environment=environment,
            die_with_parent=True,
        )
        processes.write_pid_file(self._pid_file(name), identity)

    def _environment(self, container: Mapping[str, Any]) -> dict[str, str]:
        """What the kubelet gives: the image's, the API server's address, and the Deployment's."""
        known = {
            "metadata.name": self.name,
            "metadata.namespace": self.namespace,
        }
        limits = (container.get("resources") or {}).get("limits") or {}
        if "memory" in limits:
            known["limits.memory"] = _octets(str(limits["memory"]))
        given = {
            str(entry["name"]): known[_asked_field(entry["valueFrom"])]
            if "valueFrom" in entry
            else str(entry.get("value") or "")
            for entry in container.get("env") or ()
        }
        server = urlsplit(self._server)
        own = {
            "HOSTNAME": self.name,
            "KUBERNETES_SERVICE_HOST": str(server.hostname),
            "KUBERNETES_SERVICE_PORT": str(server.port),
        }
        image = dict(self._image.environment) if self._image else {"PATH": _own_path()}
        return {**image, **own, **given}

    def _volumes(self, container: Mapping[str, Any]) -> list[tuple[Path, str]]:
        """Directories and where the container has them, its ServiceAccount's among them."""
        found = [(self._directory / "account", ACCOUNT)]
        for mount in container.get("volumeMounts") or ():
            place = self._directory / "volumes" / mount["name"] / mount.get("subPath", "")
            place.mkdir(parents=True, exist_ok=True)
            # An emptyDir, with its fsGroup, is writable for all (kubernetes: pkg/volume/emptydir).
            place.chmod(0o2777)
            found.append((place, str(mount["mountPath"])))
        # What hides our own directory from whoever mounts comes last.
        return sorted(found, key=lambda one: self._directory.is_relative_to(one[1]))

    def _in_root(self, container: Mapping[str, Any], image: Image) -> Sequence[str]:
        """On the image: its layers, and above them one that is writable as long as places are made in it."""
        place = self._directory / "roots" / str(container["name"])
        place.mkdir(parents=True, exist_ok=True)
        root = place / "root"
        secured = {**self._spec["securityContext"], **container["securityContext"]}
        user, group = secured["runAsUser"], secured["runAsGroup"]
        read_only = [f"mount -o remount,ro {root}"] if secured.get("readOnlyRootFilesystem") else []
        directory = container.get("workingDir") or image.directory
        return (
            mounts.overlay(image.layers, root, place / "upper"),
            f"mkdir -p {root}{directory}",
            *(mounts.bind(source, target, root) for source, target in self._volumes(container)),
            f"mount --rbind /dev {root}/dev",
            f"mount -t proc proc {root}/proc",
            *read_only,
            f'exec chroot {root} /bin/sh -c \'PATH=$0; cd "$1"; shift; exec "$@"\' "$theirs" {directory} '
            f"{_ENDS_WITH_US} --no-new-privs --reuid={user} --regid={group} --groups={group} "
            f"--inh-caps=-all --bounding-set=-all {shlex.join(container['command'])}",
        )

    def _in_place(self, container: Mapping[str, Any]) -> Sequence[str]:
        """On this machine's own files: nothing is added to them, whatever a volume needs is put above."""
        secured = {**self._spec["securityContext"], **container["securityContext"]}
        user, group = secured["runAsUser"], secured["runAsGroup"]
        shown = [place for place in _mounted() if not place.startswith(_NOT_OURS)]
        volumes = self._volumes(container)
        keep, put_back = _kept([target for _, target in volumes])
        return (
            *(f"mount -o remount,bind,ro {shlex.quote(place)} || true" for place in shown),
            "mount -t proc proc /proc",
            *keep,
            *(
                f"{_above(Path(target))}{mounts.bind(source, target)}\n"
                # It took this after the file system that it lies in.
                f"mount -o remount,bind,{'ro' if target == ACCOUNT else 'rw'} {target}"
                for source, target in volumes
            ),
            *put_back,
            f"cd /tmp && exec unshare --user --map-user={user} --map-group={group} "
            f'/bin/sh -c \'PATH=$0; exec "$@"\' "$theirs" {_ENDS_WITH_US} '
            f"{shlex.join(container['command'])}",
        )

    def _outer(self, name: str) -> processes.ProcessIdentity | None:
        identity = processes.read_pid_file(self._pid_file(name))
        return identity if identity is not None and processes.is_running(identity) else None

    def _first(self, name: str) -> processes.ProcessIdentity | None:
        """The process that is number 1 in the container; None once it has ended."""
        outer = self._outer(name)
        if outer is None:
            return None
        try:
            [child] = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        except (OSError, ValueError):
            return None
        return processes.observe_process(int(child))

    def _pid_file(self, name: str) -> Path:
        return self._directory / "pids" / f"{name}.json"

    def _log_file(self, name: str) -> Path:
        if name not in self.containers:
            raise SandboxError(f'no container "{name}" here: one of {", ".join(self.containers)}')
        return self._directory / "logs" / f"{name}.log"


def _own_path() -> str:
    return os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"))


def _kept(targets: Sequence[str]) -> tuple[list[str], list[str]]:
    """What holds our own files before volumes are mounted over them, and what mounts them above these."""
    hidden = [place for place in _own_places() if any(place.is_relative_to(target) for target in targets)]
    held = list(enumerate(map(shlex.quote, map(str, hidden)), start=_FIRST_DESCRIPTOR))
    keep = [f"exec {number}<{place}" for number, place in held]
    put_back = [
        # By its descriptor alone: its name leads into the volume.
        f"mkdir -p {place}\nmount --no-canonicalize --bind /proc/self/fd/{number} {place}\n"
        f"mount -o remount,bind,ro {place}\nexec {number}<&-"
        for number, place in held
    ]
    return keep, put_back


def _own_places() -> list[Path]:
    """Directories of the containers' programs: the checkout, its environment, and the Python below that."""
    found = sorted({SOURCE.parent, Path(sys.prefix), Path(sys.base_prefix)})
    return [one for one in found if not any(one.is_relative_to(other) for other in found if other != one)]


def _mounted() -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [line.split()[1].encode().decode("unicode_escape") for line in lines]


def _above(target: Path) -> str:
    """What makes room for a directory that the machine does not have."""
    if target.is_dir():
        return ""
    there = next(parent for parent in target.parents if parent.is_dir()).resolve()
    return f"mount -t tmpfs tmpfs {shlex.quote(str(there))}\n"


def _asked_field(source: Mapping[str, Any]) -> str:
    """The field of the pod, or the resource of the container, that a variable is given."""
    found = source.get("fieldRef", {}).get("fieldPath") or source["resourceFieldRef"]["resource"]
    return str(found)


def _octets(quantity: str) -> str:
    """Octets of a quantity as the chart writes them, `2Gi`."""
    units = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
    unit = units.get(quantity[-2:])
    return str(int(quantity[:-2]) * unit) if unit else quantity
