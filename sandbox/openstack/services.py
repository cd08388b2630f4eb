"""The processes of one cloud: their commands and environments, in the order of their start."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.openstack.configuration import COMPUTES, Configuration
from sandbox.openstack.series import HOST, SOURCE


@dataclass(frozen=True)
class Process:
    """One process. `health` is the URL that answers once it serves, empty where there is none."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    health: str = ""


def compute_name(host: str) -> str:
    """The process that is the nova-compute of a host."""
    return f"nova-compute-{host}"


def environment(configuration: Configuration) -> dict[str, str]:
    """What every process of the cloud sees."""
    run, venv = configuration.places.run, configuration.places.venv
    own = configuration.programs.environment
    return {
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": str(SOURCE / "plugins"),
        "HOME": str(run / "home"),
        "TMPDIR": str(run / "tmp"),
        **{f"OS_{name.upper()}_CONFIG_DIR": str(run / "etc" / name) for name in _CONFIGURED},
        "OS_NEUTRON_CONFIG_FILES": f"{run}/etc/neutron/neutron.conf;{run}/etc/neutron/ml2_conf.ini",
        **own,
        "PATH": f"{venv}/bin:" + own.get("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
    }


_CONFIGURED = ("keystone", "placement", "nova", "glance", "cinder")


def infrastructure(configuration: Configuration) -> list[Process]:
    """Database and message broker."""
    run, programs = configuration.places.run, configuration.programs
    common = environment(configuration)
    as_root = ["--user=root"] if os.geteuid() == 0 else []
    mariadb = [str(programs.mariadbd), f"--defaults-file={run}/etc/mariadb.cnf", *as_root]
    epmd = [str(programs.epmd), "-address", HOST, "-port", str(configuration.ports["epmd"])]
    rabbit = run / "rabbit"
    broker = {
        **common,
        "HOME": str(rabbit),
        "RABBITMQ_NODENAME": f"sandbox{configuration.ports['rabbit']}@localhost",
        "RABBITMQ_CONFIG_FILE": f"{run}/etc/rabbit/rabbitmq.conf",
        "RABBITMQ_ADVANCED_CONFIG_FILE": f"{run}/etc/rabbit/advanced.config",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{run}/etc/rabbit/enabled_plugins",
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_MNESIA_BASE": f"{rabbit}/mnesia",
        "RABBITMQ_LOG_BASE": f"{rabbit}/log",
        "RABBITMQ_GENERATED_CONFIG_DIR": f"{rabbit}/generated",
        "RABBITMQ_PID_FILE": f"{rabbit}/pid",
        "RABBITMQ_DIST_PORT": str(configuration.ports["rabbit-dist"]),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none +hmqd off_heap",
        "ERL_EPMD_ADDRESS": HOST,
        "ERL_EPMD_PORT": str(configuration.ports["epmd"]),
    }
    return [
        Process("mariadb", mariadb, common),
        # Before the broker, which would start one that listens everywhere.
        Process("epmd", epmd, {**common, **{k: v for k, v in broker.items() if k.startswith("ERL_")}}),
        Process("rabbit", [str(programs.rabbitmq)], broker),
    ]


def services(configuration: Configuration) -> list[Process]:
    """OpenStack's own, and what stands for the network agents."""
    run, binary = configuration.places.run, configuration.places.venv / "bin"
    common = environment(configuration)

    def program(name: str, command: str, *files: str, health: str = "") -> Process:
        arguments = [part for file in files for part in ("--config-file", f"{run}/etc/{file}")]
        return Process(name, [str(binary / command), *arguments], common, health)

    def wsgi(name: str, module: str) -> Process:
        return Process(name, _uwsgi(configuration, name, module), common, configuration.url(name, "/"))

    network = ("neutron/neutron.conf", "neutron/ml2_conf.ini")
    if (binary / "neutron-server").exists():  # up to 2025.1
        neutron = [program("neutron", "neutron-server", *network, health=configuration.url("neutron", "/"))]
    else:
        neutron = [
            wsgi("neutron", "neutron.wsgi.api:application"),
            program("neutron-rpc", "neutron-rpc-server", *network),
        ]
    nova = "nova/nova.conf"
    api = (
        program("nova", "nova-api-os-compute", nova, health=configuration.url("nova", "/"))
        if (binary / "nova-api-os-compute").exists()
        else wsgi("nova", "nova.wsgi.osapi_compute:application")
    )
    health = configuration.url("glance", "/healthcheck")
    cinder = "cinder/cinder.conf"
    return [
        wsgi("keystone", "keystone.wsgi.api:application"),
        wsgi("placement", "placement.wsgi.api:application"),
        program("glance", "glance-api", "glance/glance-api.conf", health=health),
        *neutron,
        api,
        program("nova-conductor", "nova-conductor", nova),
        program("nova-scheduler", "nova-scheduler", nova),
        *(program(compute_name(host), "nova-compute", f"nova-{host}/nova.conf") for host in COMPUTES),
        program("cinder", "cinder-api", cinder, health=configuration.url("cinder", "/")),
        program("cinder-scheduler", "cinder-scheduler", cinder),
        program("cinder-volume", "cinder-volume", cinder),
        Process(
            "network-agents",
            [
                str(binary / "python"),
                str(SOURCE / "agents.py"),
                str(run / "agents"),
                *map(str, _network(run)),
            ],
            common,
        ),
    ]


def _network(run: Path) -> list[Path]:
    return [run / "etc/neutron/neutron.conf"]


def _uwsgi(configuration: Configuration, name: str, module: str) -> list[str]:
    return [
        str(configuration.places.venv / "bin/uwsgi"),
        "--http-socket",
        f"{HOST}:{configuration.ports[name]}",
        "--module",
        module,
        "--master",
        "--die-on-term",
        "--lazy-apps",
        "--need-app",
        "--processes=1",
        "--threads=8",
        "--enable-threads",
        "--buffer-size=65535",
        # Kept-alive connections are reset by this server's HTTP socket: it closes each itself.
        "--add-header",
        "Connection: close",
        "--wsgi-disable-file-wrapper",
        "--disable-logging",
        "--procname-prefix",
        f"{name} ",
    ]


def in_venv(configuration: Configuration, script: str, *arguments: str) -> list[str]:
    """The command that runs a script of this directory with the cloud's own packages."""
    python = configuration.places.venv / "bin/python"
    return [str(python if python.exists() else sys.executable), str(SOURCE / script), *arguments]
