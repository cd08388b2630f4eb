"""The images that a region's pods are made of, and under which names the charts ask for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from sandbox.errors import SandboxError
from sandbox.images.oci import ImageConfig
from sandbox.images.stages import SCRIPTS, Stage
from sandbox.paths import SOURCE

REGISTRY = "sandbox.local"
SERIES = ("2025.1", "2025.2", "2026.1")


@dataclass(frozen=True)
class Recipe:
    """One image. `repositories`: the last part of the names, without tag, that charts have for it."""

    name: str
    stages: tuple[Stage, ...]
    config: ImageConfig = field(default_factory=ImageConfig)
    repositories: tuple[str, ...] = ()


BASE = Stage("base")
NODE = Stage("node", (BASE,), packages=("iproute2", "procps", "nftables", "kmod", "ethtool", "conntrack"))
"""What the node itself runs on."""

_TOOLS = Stage(
    "openstack-tools",
    (BASE,),
    packages=(
        *("apache2", "libapache2-mod-wsgi-py3", "libpython3-stdlib", "libxml2", "libpcre2-8-0"),
        *("iproute2", "procps", "qemu-utils", "ethtool", "nftables", "ipset", "sudo"),
        # By these Nova moves the disks of a server from one host to another.
        *("openssh-client", "openssh-server"),
    ),
    script="openstack-tools.sh",
)
_MARIADB = Stage(
    "mariadb",
    (BASE,),
    # The last two are what OpenStack-Helm's start script is written with.
    packages=(
        *("mariadb-server-core", "mariadb-client", "galera-4", "mariadb-backup"),
        *("python3-kubernetes", "python3-iso8601"),
    ),
    script="mariadb.sh",
)
_RABBITMQ = Stage("rabbitmq", (BASE,), packages=("rabbitmq-server", "python3"), script="rabbitmq.sh")
_MEMCACHED = Stage("memcached", (BASE,), packages=("memcached",))
_RESTIC = Stage("restic", (BASE,), packages=("restic",))
_LIBVIRT = Stage(
    "libvirt",
    (BASE,),
    packages=("libvirt-daemon", "libvirt-clients", "qemu-system-x86", "qemu-utils", "iproute2", "procps"),
    script="libvirt.sh",
)
_SWITCH = Stage("openvswitch", (BASE,), packages=("openvswitch-switch", "iproute2", "procps", "kmod"))
_PLUGS = Stage("libvirt-plugs", (BASE, _LIBVIRT), packages=("openvswitch-switch", "dnsmasq-base"))
_GUEST = Stage("guest", (BASE,), packages=("busybox-static", "cpio"), script="guest.sh", keep=("/guest",))
_ENTRYPOINT = Stage(
    "entrypoint", (BASE,), script="entrypoint.sh", inputs=(SOURCE / "images" / "entrypoint.py",)
)

GUEST = Recipe("guest", (BASE, _GUEST), ImageConfig(("bash",)))
"""What a server boots: /guest/vmlinuz, and /guest/initrd with a shell's commands and no disk."""

OPENVSWITCH = Recipe("openvswitch", (BASE, _SWITCH), ImageConfig(("ovs-vswitchd",)), ("openvswitch",))
ENTRYPOINT = Recipe(
    "entrypoint", (BASE, _ENTRYPOINT), ImageConfig(("kubernetes-entrypoint",)), ("kubernetes-entrypoint",)
)
RESTIC = Recipe("restic", (BASE, _RESTIC), ImageConfig(("restic",)), ("restic",))
GUEST_HOST = Recipe("guest-host", (BASE, _LIBVIRT, _PLUGS, _GUEST), ImageConfig(("bash",)))
"""QEMU beside a switch, with that guest, and a server of addresses."""


def _openstack(series: str) -> Stage:
    requirements = SOURCE / "openstack" / f"requirements-{series}.txt"
    more = SCRIPTS / f"openstack-extra-{series}.txt"
    return Stage(
        f"openstack-{series}",
        (BASE,),
        packages=(
            "gcc",
            "libc6-dev",
            "python3-dev",
            "python3-venv",
            "libpcre2-dev",
            "libffi-dev",
        ),
        script="openstack-venv.sh",
        inputs=(requirements, more),
        keep=("/var/lib/openstack",),
    )


def _services(series: str) -> Stage:
    return Stage(
        f"services-{series}",
        (BASE, _openstack(series), _TOOLS),
        # The second is what OpenStack-Helm's cleaner of Nova's services is written with.
        packages=("python3-libvirt", "jq"),
        script="services.sh",
        inputs=(SOURCE / "openstack" / "ml2_driver.py", SOURCE / "images" / "tap_driver.py"),
    )


def _horizon(series: str) -> Stage:
    return Stage(
        f"horizon-{series}",
        (BASE, _openstack(series), _TOOLS),
        packages=("python3-pip", "binutils"),
        script="horizon.sh",
        inputs=(SCRIPTS / f"horizon-{series}.txt",),
        keep=("/var/lib/openstack", "/etc/apache2"),
    )


def _dashboard(series: str, environment: dict[str, str]) -> tuple[Recipe, ...]:
    """None of a series whose packages of the dashboard are not listed."""
    if not (SCRIPTS / f"horizon-{series}.txt").exists():
        return ()
    stages = (BASE, _openstack(series), _TOOLS, _horizon(series))
    config = ImageConfig(("bash",), environment=environment)
    return (Recipe(f"horizon-{series}", stages, config, ("horizon",)),)


_SERVICES = (
    *("keystone", "placement", "glance", "nova", "neutron", "cinder", "heat", "openstack-client"),
    # No pod of these runs: the first without Ceph, the others but as a test of Helm.
    *("ceph-config-helper", "xrally-openstack", "osh-selenium"),
)


def recipes(series: str) -> tuple[Recipe, ...]:
    """Every image of a region of that series. Raises SandboxError on one there is no recipe for."""
    if series not in SERIES:
        raise SandboxError(f'no images of OpenStack "{series}": one of {", ".join(SERIES)}')
    openstack_environment = {
        "PATH": "/var/lib/openstack/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
    }
    return (
        Recipe(
            f"openstack-{series}",
            (BASE, _openstack(series), _TOOLS, _services(series)),
            ImageConfig(("bash",), environment=openstack_environment),
            _SERVICES,
        ),
        *_dashboard(series, openstack_environment),
        Recipe("mariadb", (BASE, _MARIADB), ImageConfig(("mariadbd",)), ("mariadb",)),
        Recipe("rabbitmq", (BASE, _RABBITMQ), ImageConfig(("rabbitmq-server",)), ("rabbitmq",)),
        Recipe("libvirt", (BASE, _LIBVIRT), ImageConfig(("libvirtd",)), ("libvirt",)),
        OPENVSWITCH,
        Recipe("memcached", (BASE, _MEMCACHED), ImageConfig(("memcached",)), ("memcached",)),
        RESTIC,
        ENTRYPOINT,
    )
