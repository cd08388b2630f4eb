"""A node in namespaces of its own, and the containers of rendered pods as a kubelet and runc start them.

What decides whether a script works in a pod is here as it is there: the user and its capabilities, the
read-only root, every mount with its owner and mode, the environment and nothing else of it, a process that is
number one. The image is Debian: this machine's /usr below the packages that the scripts call (see COMMANDS).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import platform
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.debian import unpack_packages
from sandbox.errors import SandboxError
from sandbox.locks import locked
from sandbox.paths import cache_root
from sandbox.patience import Patience, patient
from tests.charts.lean import objects, pod_specs

COMMANDS = (
    "openvswitch-switch",
    "libvirt-daemon",
    "libvirt-daemon-driver-qemu",
    "libvirt-clients",
    "iproute2",
)
_WANTED = ("openvswitch-", "libvirt", "lib", "dmidecode", "kmod", "iproute2")
TOOLS = ("unshare", "nsenter", "setpriv", "chroot", "mount", "dpkg-deb")
# What containerd gives a container of root that asks for nothing.
CAPABILITIES = {"chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap", "net_raw"}
CAPABILITIES |= {"net_bind_service", "sys_chroot", "mknod", "audit_write", "setfcap"}
NODE = "node1"
FULL_NAME = "node1.example.org"
PATH = "/var/lib/openstack/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Beside the mounts of the pod: what an image has. Users: root, nobody, nova and libvirt's.
IMAGE = """
set -e
mount -t tmpfs -o mode=755 tmpfs {root}
cd {root}
mkdir -p usr etc proc sys dev tmp run var/lib var/log root; ln -s /run var/run; touch etc/resolv.conf
chmod 1777 tmp
ln -s usr/bin bin; ln -s usr/sbin sbin; ln -s usr/lib lib; ln -s usr/lib64 lib64
mount -t overlay -o lowerdir={packages}/usr:/usr overlay usr
cp -a {packages}/etc/. etc/ 2>/dev/null || true
cp -a /etc/alternatives etc/ 2>/dev/null || true
printf 'root:x:0:0:root:/root:/bin/bash\\nnobody:x:65534:65534:nobody:/:/bin/false\\n' > etc/passwd
printf 'libvirt-qemu:x:64055:107::/:/bin/false\\nnova:x:42424:42424::/:/bin/false\\n' >> etc/passwd
printf 'root:x:0:\\nkvm:x:107:\\nlibvirt-qemu:x:64055:\\nnova:x:42424:\\nnogroup:x:65534:\\n' > etc/group
printf '127.0.0.1 localhost\\n{addresses}\\n' > etc/hosts
printf 'passwd: files\\ngroup: files\\nhosts: files\\n' > etc/nsswitch.conf
mount -t proc proc proc
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/shm; ln -s /proc/self/fd dev/fd
for device in null zero full random urandom; do touch dev/$device; mount --bind /dev/$device dev/$device; done
"""

START = f"mount --make-rprivate /; hostname {NODE}"
NETWORK = """
ip link set lo up
ip link add eth0 type veth peer switch
ip address add 192.0.2.10/24 dev eth0
ip link set eth0 up
ip link set switch up
ip route add default via 192.0.2.1
"""


def commands_or_skip() -> Path:
    """The unpacked packages; made once (about 20 MB). Skips with the reason where a node cannot be."""
    if os.geteuid() != 0:
        pytest.skip("pods need root: their users, mounts and namespaces are real")
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking:
        pytest.skip(f"pods need {', '.join(lacking)} (Debian's util-linux and dpkg)")
    key = hashlib.sha256(repr((COMMANDS, _WANTED)).encode()).hexdigest()[:12]
    place = cache_root() / "debian" / f"{platform.machine()}-{key}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place.with_name(f"{place.name}.lock"), timeout=900):
        if not place.exists():
            draft = place.with_name(f"{place.name}.draft")
            shutil.rmtree(draft, ignore_errors=True)
            (draft / "usr").mkdir(parents=True)
            try:
                unpack_packages(COMMANDS, lambda name: name.startswith(_WANTED), draft)
            except SandboxError as error:
                pytest.skip(f"pods need Debian's packages: {error}")
            for old in ("bin", "sbin", "lib", "lib64"):
                if (draft / old).is_dir():
                    shutil.copytree(draft / old, draft / "usr" / old, symlinks=True, dirs_exist_ok=True)
                    shutil.rmtree(draft / old)
            (draft / "usr/lib/modules").mkdir(parents=True, exist_ok=True)  # pods mount the node's here
            # What the package's installation would do: another build of it takes the name where it is there.
            if (draft / "usr/lib/openvswitch-switch/ovs-vswitchd").exists():
                (draft / "usr/sbin/ovs-vswitchd").symlink_to("../lib/openvswitch-switch/ovs-vswitchd")
            draft.rename(place)
    return place


def _child(pid: int) -> int:
    """The one child of a process, waited for; 0 where the process has ended."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return 0
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise AssertionError(f"process {pid} started nothing")


class Node:
    """Namespaces, a name, an address on eth0, and directories of a host. Its processes end with it.

    `loopback`: on the network of this machine, for containers that call servers here.
    """

    def __init__(self, directory: Path, packages: Path, loopback: bool = False) -> None:
        self.directory = directory
        self.packages = packages
        self.host = directory / "host"
        self.host.mkdir()
        self.addresses = f"192.0.2.10 {FULL_NAME} {NODE}"
        self._kinds = ["--mount", "--uts", "--ipc", "--pid", *([] if loopback else ["--net"])]
        private = [*self._kinds, "--fork", "--kill-child", "--mount-proc"]
        start = "\n".join([START, "" if loopback else NETWORK, "echo up; exec sleep infinity"])
        self._outer = subprocess.Popen(["unshare", *private, "bash", "-ec", start], stdout=subprocess.PIPE)
        assert self._outer.stdout is not None
        assert self._outer.stdout.readline() == b"up\n", "this machine lets nobody make namespaces"
        self.pid = _child(self._outer.pid)

    def inside(self, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """A command of this machine in the node's namespaces."""
        done = subprocess.run(
            [*self.entrance(), *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=patient(120),
            **options,
        )
        assert done.returncode == 0, done.stderr
        return done

    def give_interface(self, name: str, address: str = "") -> None:
        """Another interface, up; with an address in CIDR form where one is given."""
        self.inside("ip", "link", "add", name, "type", "veth", "peer", "name", f"{name}-far")
        if address:
            self.inside("ip", "address", "add", address, "dev", name)
        self.inside("ip", "link", "set", name, "up")

    def entrance(self) -> list[str]:
        return ["nsenter", "--target", str(self.pid), *self._kinds, "--"]

    def end(self) -> None:
        self._outer.kill()
        self._outer.wait(timeout=patient(60))


# What QEMU looks for at its start: major and minor numbers of character devices.
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}


@contextlib.contextmanager
def a_node(loopback: bool = False) -> Iterator[Node]:
    packages = commands_or_skip()
    with tempfile.TemporaryDirectory(prefix="node-") as directory:
        node = Node(Path(directory), packages, loopback)
        try:
            yield node
        finally:
            node.end()


class Running:
    """A container that was started; what it says is kept in a file."""

    def __init__(self, pod: Pod, name: str, process: subprocess.Popen[bytes], log: Path, first: bool) -> None:
        self._pod, self.name, self._process, self._log = pod, name, process, log
        self.pid = _child(_child(process.pid) if first else process.pid)
        self._await_its_root()

    def _await_its_root(self) -> None:
        """What runs inside sees the image, not the machine on which its mounts are still being made."""
        end = time.monotonic() + 60
        with contextlib.suppress(OSError):  # it has ended
            while Path(f"/proc/{self.pid}/root").readlink() == Path("/"):
                assert time.monotonic() < end, self.said()
                time.sleep(0.01)

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def wait(self, timeout: float = 60) -> int:
        """Its exit code, as a shell tells it."""
        return self._process.wait(timeout)

    def running(self) -> bool:
        return self._process.poll() is None

    def terminate(self, within: float) -> int:
        """SIGTERM to its first process, as a kubelet sends it. Fails where that does not end it in time."""
        os.kill(self.pid, signal.SIGTERM)
        return self._process.wait(within)

    def kill(self) -> None:
        self._process.kill()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._process.wait(patient(60))

    def exec(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """A command inside, as a probe or a hook runs."""
        spec = self._pod.container(self.name)
        entrance = ["nsenter", "--target", str(self.pid), "--mount", "--net", "--uts", "--ipc", "--pid"]
        privileges = [*self._pod.privileges(spec), "--", *command]
        return subprocess.run(
            [*entrance, "--root", "--wd", "--", *privileges],
            env=self._pod.environment(spec), capture_output=True, text=True, check=False, timeout=patient(60),
        )  # fmt: skip

    def until(self, *command: str, timeout: float = 60) -> None:
        """Waits until the command succeeds inside."""
        patience = Patience(timeout)
        while (done := self.exec(command)).returncode != 0:
            assert self.running(), self.said()
            assert not patience.is_over(), f"{command}: {done.stderr}{done.stdout}\n{self.said()}"
            time.sleep(0.1)


@contextlib.contextmanager
def a_hypervisor() -> Iterator[Node]:
    """With the devices that QEMU looks for at its start."""
    with a_node() as made:
        (made.host / "dev").mkdir()
        for name, numbers in DEVICES.items():
            os.mknod(made.host / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(*numbers))
        yield made


class Pod:
    """One pod of a rendered workload on a node; its emptyDirs live as long as it does."""

    def __init__(
        self, node: Node, chart: str, workload: str, values: Mapping[str, Any] | None = None
    ) -> None:
        self.node = node
        self._objects = objects(chart, values)
        self.spec = next(spec for name, spec in pod_specs(self._objects) if name.startswith(workload))
        self.directory = Path(tempfile.mkdtemp(prefix="pod-", dir=node.directory))
        self._count = 0
        self.files: dict[str, Path] = {}
        self.more: dict[str, str] = {}

    def container(self, name: str) -> dict[str, Any]:
        found = [*self.spec["containers"], *self.spec.get("initContainers", [])]
        return next(one for one in found if one["name"] == name)

    def run(self, name: str, timeout: float = 60, **env: str) -> tuple[int, str]:
        """Exit code and words of a container that ends by itself."""
        started = self.start(name, **env)
        try:
            return started.wait(timeout), started.said()
        finally:
            started.kill()

    def start(self, name: str, **env: str) -> Running:
        spec = self.container(name)
        self.more = env
        self._count += 1
        root = self.directory / f"root-{self._count}"
        root.mkdir()
        log = self.directory / f"log-{self._count}"
        # A shared namespace has a first process of its own; here it is the node's.
        first = not (self.spec.get("hostPID") or self.spec.get("shareProcessNamespace"))
        script = [
            IMAGE.format(root=root, packages=self.node.packages, addresses=self.node.addresses),
            *(self._mounted(root, mount) for mount in spec["volumeMounts"]),
            *(self._bound(root / target.lstrip("/"), source, False) for target, source in self.files.items()),
        ]
        if self._security(spec).get("privileged"):
            # It has every device of the node; one of them makes others for a network.
            script.append(self._bound(root / "dev/net/tun", Path("/dev/net/tun"), False))
        if self._security(spec).get("readOnlyRootFilesystem"):
            script.append(f"mount -o remount,ro {root}")
        arguments = shlex.join([*self.privileges(spec), "--", *spec["command"]])
        script.append(f"cd /; exec chroot {root} {arguments}")
        namespaces = ["--mount", *(["--pid", "--fork", "--kill-child"] if first else [])]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*self.node.entrance(), "unshare", *namespaces, "bash", "-c", "\n".join(script)],
                env=self.environment(spec), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
        return Running(self, name, process, log, first)

    def _security(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.spec.get("securityContext", {}), **spec.get("securityContext", {})}

    def privileges(self, spec: Mapping[str, Any]) -> list[str]:
        """The user and what it may do. One that the image knows is of its own group, as with runc."""
        security = self._security(spec)
        user = security.get("runAsUser", 0)
        groups = str(security["fsGroup"]) if "fsGroup" in security else ""
        command = ["setpriv", "--reuid", str(user), "--regid", str(user)]
        command += ["--groups", groups] if groups else ["--clear-groups"]
        if not security.get("privileged"):
            asked = security.get("capabilities", {})
            dropped = {name.lower() for name in asked.get("drop", [])}
            kept = set() if "all" in dropped else CAPABILITIES - dropped
            kept |= {name.lower() for name in asked.get("add", [])}
            command += ["--bounding-set", ",".join(["-all", *(f"+{name}" for name in sorted(kept))])]
        command += ["--inh-caps=-all"]
        if security.get("allowPrivilegeEscalation") is False:
            command.append("--no-new-privs")
        return command

    def environment(self, spec: Mapping[str, Any]) -> dict[str, str]:
        """What is given, a PATH of the image, and the HOME that runc gives."""
        found = {"PATH": PATH, "HOME": "/", "HOSTNAME": NODE}
        for source in spec.get("envFrom", []):
            data = self._data("Secret", source["secretRef"]["name"])
            found |= {source.get("prefix", "") + name: value.decode() for name, value in data.items()}
        for one in spec.get("env", []):
            found[one["name"]] = one["value"] if "value" in one else self._value(one["valueFrom"])
        return found | self.more

    def _value(self, source: Mapping[str, Any]) -> str:
        if "fieldRef" in source:
            fields = {"spec.nodeName": NODE, "metadata.namespace": "openstack", "metadata.name": "pod-0"}
            return fields[source["fieldRef"]["fieldPath"]]
        reference = source["secretKeyRef"]
        return self._data("Secret", reference["name"])[reference["key"]].decode()

    def _data(self, kind: str, name: str) -> dict[str, bytes]:
        for item in self._objects:
            if item["kind"] == kind and item["metadata"]["name"] == name:
                plain = {key: value.encode() for key, value in item.get("data", {}).items()}
                if kind == "ConfigMap":
                    return plain
                return {key: base64.b64decode(value) for key, value in plain.items()}
        return {}

    def _mounted(self, root: Path, mount: Mapping[str, Any]) -> str:
        source = self._volume(next(one for one in self.spec["volumes"] if one["name"] == mount["name"]))
        part = source / mount["subPath"] if "subPath" in mount else source
        if not part.exists():
            part.mkdir(parents=True)
            part.chmod(0o777)
        return self._bound(root / mount["mountPath"].lstrip("/"), part, bool(mount.get("readOnly")))

    @staticmethod
    def _bound(target: Path, source: Path, read_only: bool) -> str:
        making = f"mkdir -p {target}" if source.is_dir() else f"mkdir -p {target.parent}; touch {target}"
        lines = f"{making}; mount --rbind {source} {target}"
        return f"{lines}; mount -o remount,bind,ro {target}" if read_only else lines

    def _volume(self, volume: Mapping[str, Any]) -> Path:
        """The directory of a volume, made where it is not there, with the modes that a kubelet gives."""
        if "hostPath" in volume:
            place = self.node.host / volume["hostPath"]["path"].lstrip("/")
            place.mkdir(parents=True, exist_ok=True)
            return place
        place = self.directory / "volumes" / str(volume["name"])
        if place.exists():
            return place
        place.mkdir(parents=True)
        place.chmod(0o777)
        group = self.spec.get("securityContext", {}).get("fsGroup", -1)
        if "configMap" in volume:
            data, mode = (
                self._data("ConfigMap", volume["configMap"]["name"]),
                volume["configMap"]["defaultMode"],
            )
        elif "secret" in volume:
            given = volume["secret"]
            data, mode = self._data("Secret", given["secretName"]), given["defaultMode"]
        else:
            data, mode = {}, 0
        for name, content in data.items():
            (place / name).write_bytes(content)
            (place / name).chmod(mode | (0o440 if group > 0 else 0))
            os.chown(place / name, 0, group)
        os.chown(place, 0, group)
        return place
