"""Rendered pods, run by the kernel's namespaces: their uid, read-only root, mounts, names and signals.

What a kubelet and a container runtime do, for the parts that a script can stumble over: process 1 of its own
process namespace (which ignores signals that it does not handle), the user of the security context without an
entry in /etc/passwd, an environment of what the chart gives, volumes with their owners and modes, an address
and names of other pods. Needs root; nothing outside of the namespaces changes.
"""

from __future__ import annotations

import base64
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sandbox.patience import Patience, patient

TOOLS = ("unshare", "nsenter", "chroot", "mount", "ip")


def refuse_without_namespaces() -> None:
    """Skips the test where this machine cannot run a pod."""
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if os.geteuid() != 0 or lacking:
        pytest.skip(f"pods are run as root, with {', '.join(TOOLS)}")
    tried = subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "true"], check=False)
    if tried.returncode != 0:
        pytest.skip("this machine gives no namespaces of its kernel")


def wait_until(
    what: str, there: Callable[[], bool], show: Callable[[], str], timeout: float = 300.0, every: float = 0.2
) -> None:
    """Asks again after `every` seconds; fails with what `show` says at the deadline."""
    patience = Patience(timeout)
    while not there():
        if patience.is_over():
            raise AssertionError(f"{what}: not within {timeout:.0f} s of a quiet machine\n{show()}")
        time.sleep(every)


@dataclass(frozen=True)
class Image:
    """A root file system, what lies over directories of it, and the environment that the image brings."""

    root: Path
    over: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


class Network:
    """A bridge that pods are plugged into; `names` are the hosts that each of them knows."""

    def __init__(self, directory: Path) -> None:
        self.names: dict[str, str] = {}
        self.hosts = directory / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n::1 localhost\n")
        self._holders: list[subprocess.Popen[bytes]] = []
        self._bridge = self._hold("bridge")
        self._inside(self._bridge, "ip link set lo up && ip link add br0 type bridge && ip link set br0 up")

    def plug(self, pod: str, fqdn: str) -> int:
        """A network and a name for a pod: the process that holds them."""
        holder = self._hold(pod)
        number = len(self._holders)
        address = f"10.77.0.{number}"
        port = f"p{number}"
        self._inside(
            self._bridge,
            f"ip link add {port} type veth peer name eth0 netns {holder} && ip link set {port} master br0 up",
        )
        self._inside(holder, f"ip link set lo up && ip addr add {address}/24 dev eth0 && ip link set eth0 up")
        self.names[fqdn] = address
        # In place: it is mounted into pods that run.
        with self.hosts.open("a") as file:
            file.write(f"{address} {fqdn} {pod}\n")
        return holder

    def close(self) -> None:
        for holder in self._holders:
            holder.kill()
            holder.wait(patient(30))

    def _hold(self, hostname: str) -> int:
        script = f"hostname {shlex.quote(hostname)}; echo up; exec sleep infinity"
        holder = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", script], stdout=subprocess.PIPE)
        self._holders.append(holder)
        assert holder.stdout and holder.stdout.readline() == b"up\n"
        return holder.pid

    def _inside(self, holder: int, script: str) -> None:
        subprocess.run(
            ["nsenter", "-t", str(holder), "--net", "sh", "-c", script], check=True, timeout=patient(60)
        )


class Container:
    """One run of a container of a pod."""

    def __init__(self, pod: Pod, name: str, process: subprocess.Popen[bytes], place: Path) -> None:
        self.pod, self.name, self.process = pod, name, process
        self._root, self._log = place / "root", place / "log"

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def first(self) -> int:
        """Its main process, as this machine numbers it, once it is in its own root."""
        found: list[int] = []

        def inside(child: int) -> bool:
            return Path(f"/proc/{child}/root").readlink() != Path("/")

        def started() -> bool:
            assert self.running, self.log()
            processes = _children(self.process.pid)
            if self.pod.shares_processes:
                processes = [child for process in processes for child in _children(process)]
            found[:] = [process for process in processes if inside(process)]
            return bool(found)

        wait_until("its first process runs", started, self.log, 30)
        return found[0]

    def run(self, command: Sequence[str], timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
        """What a probe or `kubectl exec` does. The exit code is 124 when it takes too long."""
        spec = self.pod.container(self.name)
        target = str(self.first)
        inside = ["nsenter", "-t", target, "--mount", "--uts", "--net", "--pid", "chroot", str(self._root)]
        call = [*inside, "setpriv", *self.pod.user(spec), "env", "-i", *self.pod.environment(spec), *command]
        try:
            return subprocess.run(call, capture_output=True, text=True, check=False, timeout=timeout)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(call, 124, "", f"longer than {timeout} s")

    def terminate(self, grace: float = 30.0) -> float:
        """Sends SIGTERM as a kubelet does: the seconds until the end. Fails after the time of grace."""
        began = time.monotonic()
        os.kill(self.first, signal.SIGTERM)
        try:
            self.process.wait(grace)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"{self.name} took no notice of SIGTERM for {grace} s\n{self.log()}"
            ) from None
        return time.monotonic() - began

    def kill(self) -> None:
        # The first process of the namespace takes all others with it. It does not die with its parent: the
        # kernel forgets that wish when a process takes another user (prctl(2), PR_SET_PDEATHSIG).
        for first in _children(self.process.pid):
            os.kill(first, signal.SIGKILL)
        self.process.kill()
        self.process.wait(patient(30))

    @property
    def running(self) -> bool:
        return self.process.poll() is None


class Pod:
    """One pod of a rendered workload. Its volumes outlive its containers; a new claim is empty and root's."""

    def __init__(
        self,
        directory: Path,
        name: str,
        workload: Mapping[str, Any],
        objects: Sequence[Mapping[str, Any]],
        image: Image,
        network: Network,
        fqdn: str,
    ) -> None:
        self.name = name
        self._directory = directory / name
        self._spec = workload["spec"]["template"]["spec"]
        self._claims = {one["metadata"]["name"] for one in workload["spec"].get("volumeClaimTemplates", ())}
        self._objects = objects
        self._image = image
        self._network = network
        self._holder = network.plug(name, fqdn)
        self._address = network.names[fqdn]
        self._runs = 0
        self._present: list[Container] = []

    def container(self, name: str) -> Mapping[str, Any]:
        every = [*self._spec.get("initContainers", ()), *self._spec["containers"]]
        return next(one for one in every if one["name"] == name)

    def initialize(self) -> None:
        """Runs the init containers that do not wait for other workloads."""
        for container in self._spec.get("initContainers", ()):
            if container["name"] == "init":
                continue
            run = self.start(container["name"])
            assert run.process.wait(patient(60)) == 0, run.log()

    def start(self, name: str) -> Container:
        """Starts a container again: its file system is fresh, the volumes are as they were left."""
        self._runs += 1
        spec = self.container(name)
        place = self._directory / f"run-{self._runs}"
        (place / "layers").mkdir(parents=True)
        (place / "root").mkdir()
        (place / "hosts").touch()
        script = "\n".join(["set -e", *self._mounts(spec, place), self._command(spec, place)])
        (place / "start.sh").write_text(script)
        enter = ["nsenter", "-t", str(self._holder), "--net", "--uts"]
        with (place / "log").open("wb") as output:
            process = subprocess.Popen(
                [
                    *enter,
                    "unshare",
                    "--mount",
                    "--pid",
                    "--fork",
                    "--kill-child",
                    "sh",
                    str(place / "start.sh"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        container = Container(self, name, process, place)
        self._present.append(container)
        return container

    def volume(self, name: str) -> Path:
        """The directory of a claim or an emptyDir on this machine."""
        path = self._directory / "volumes" / name
        if not path.exists():
            path.mkdir(parents=True)
            path.chmod(0o755 if name in self._claims else 0o777)
        return path

    @property
    def shares_processes(self) -> bool:
        return bool(self._spec.get("shareProcessNamespace"))

    def close(self) -> None:
        for container in self._present:
            if container.running:
                container.kill()

    def environment(self, spec: Mapping[str, Any]) -> list[str]:
        """NAME=value as `env` takes it: the image's and the chart's, nothing of this machine."""
        given = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOSTNAME": self.name,
        }
        given |= self._image.environment
        for item in spec.get("env", ()):
            given[item["name"]] = item["value"] if "value" in item else self._value_from(item["valueFrom"])
        return [f"{name}={value}" for name, value in given.items()]

    def user(self, spec: Mapping[str, Any]) -> list[str]:
        """Arguments of setpriv."""
        own, pod = spec.get("securityContext", {}), self._spec.get("securityContext", {})
        uid = own.get("runAsUser", pod.get("runAsUser", 0))
        gid = own.get("runAsGroup", pod.get("runAsGroup", 0))
        return [f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]

    def _command(self, spec: Mapping[str, Any], place: Path) -> str:
        inside = ["setpriv", *self.user(spec), "env", "-i", *self.environment(spec)]
        command = shlex.join(["chroot", str(place / "root"), *inside, *spec["command"]])
        # Beside the first process of the pod, or itself the first one of the container.
        return f"{command} & wait $!" if self.shares_processes else f"exec {command}"

    def _mounts(self, spec: Mapping[str, Any], place: Path) -> Iterator[str]:
        root = place / "root"
        layers = place / "layers"
        yield "mount --make-rprivate /"
        # A file system of its own: layers must not lie in each other.
        yield f"mount -t tmpfs tmpfs {layers} && mkdir {layers}/upper {layers}/work"
        yield _overlay(root, f"{self._image.root},upperdir={layers}/upper,workdir={layers}/work")
        for directory, above in self._image.over.items():
            layered = [*above, self._image.root / directory]
            yield _overlay(root / directory, ":".join(str(layer) for layer in layered))
        yield f"mkdir -p {root}/proc {root}/dev {root}/sys && mount -t proc proc {root}/proc"
        yield f"mount --rbind /dev {root}/dev"
        yield _bind(self._network.hosts, root / "etc/hosts")
        for mount in spec.get("volumeMounts", ()):
            source = self._source(mount["name"])
            if "subPath" in mount:
                source = source / mount["subPath"]
                if not source.exists():
                    source.mkdir(parents=True)
                    source.chmod(0o777)
            yield _bind(source, root / mount["mountPath"].lstrip("/"), read_only=mount.get("readOnly", False))
        if spec.get("securityContext", {}).get("readOnlyRootFilesystem"):
            yield f"mount -o remount,ro {root}"

    def _source(self, name: str) -> Path:
        volume = next((one for one in self._spec["volumes"] if one["name"] == name), {})
        if "configMap" in volume:
            return self._files(
                name, self._data("ConfigMap", volume["configMap"]["name"]), volume["configMap"]
            )
        if "secret" in volume:
            return self._files(name, self._data("Secret", volume["secret"]["secretName"]), volume["secret"])
        return self.volume(name)

    def _files(self, name: str, data: Mapping[str, bytes], source: Mapping[str, Any]) -> Path:
        directory = self._directory / "files" / name
        directory.mkdir(parents=True, exist_ok=True)
        for key, content in data.items():
            (directory / key).write_bytes(content)
            (directory / key).chmod(source.get("defaultMode", 0o644))
        return directory

    def _data(self, kind: str, name: str) -> dict[str, bytes]:
        item = next(one for one in self._objects if one["kind"] == kind and one["metadata"]["name"] == name)
        data = item.get("data") or {}
        if kind == "Secret":
            return {key: base64.b64decode(value) for key, value in data.items()}
        return {key: value.encode() for key, value in data.items()}

    def _value_from(self, source: Mapping[str, Any]) -> str:
        if "secretKeyRef" in source:
            reference = source["secretKeyRef"]
            return self._data("Secret", reference["name"])[reference["key"]].decode()
        fields = {
            "metadata.name": self.name,
            "metadata.namespace": "openstack",
            "status.podIP": self._address,
        }
        return fields[source["fieldRef"]["fieldPath"]]


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@contextmanager
def network(directory: Path) -> Iterator[Network]:
    """A network of pods that ends with the block."""
    made = Network(directory)
    try:
        yield made
    finally:
        made.close()


def _overlay(target: Path, lower: str) -> str:
    return f"mount -t overlay overlay -o lowerdir={lower} {target}"


def _bind(source: Path, target: Path, *, read_only: bool = False) -> str:
    make = f"mkdir -p {target}" if source.is_dir() else f"mkdir -p {target.parent} && touch {target}"
    bound = f"{make} && mount --bind {source} {target}"
    return f"{bound} && mount -o remount,bind,ro {target}" if read_only else bound
