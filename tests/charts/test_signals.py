"""What runs in a pod ends when it is asked to: SIGTERM, and no waiting for the time of grace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.charts.lean import LEAN, merged, nest, objects, pod_specs, the
from tests.charts.pods import Image, Network, Pod, network, refuse_without_namespaces, wait_until

pytestmark = pytest.mark.slow

ENDED = 128 + 15


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Network]:
    refuse_without_namespaces()
    with network(tmp_path) as made:
        yield made


def pod(chart: str, kind: str, name: str, directory: Path, net: Network, **more: Any) -> Pod:
    """A pod on this machine's own root."""
    found = objects(chart, more.get("values"))
    given = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1", **more.get("env", {})}
    image = Image(Path("/"), more.get("over", {}), given)
    # No number of a pod, but a name is one.
    return Pod(directory, f"{name}-0", the(found, kind, name), found, image, net, f"{name}-0.openstack")


def test_a_job_ends_at_once_when_it_is_replaced(tmp_path: Path, net: Network) -> None:
    job = pod("rabbitmq", "Job", "rabbitmq-cluster-wait", tmp_path, net)
    container = job.start("rabbitmq-cluster-wait")
    wait_until("it waits", lambda: "nodes run" in container.log(), container.log)
    assert container.terminate() < 3
    assert container.process.returncode == ENDED


@pytest.mark.parametrize("chart", LEAN)
def test_a_job_heeds_sigterm_unless_it_changes_a_schema(chart: str) -> None:
    """As the first process it would not: SIGTERM is nothing to shells, to Python and to most commands."""
    for name, spec in pod_specs(objects(chart)):
        if name.startswith(("Job/", "CronJob/")) and not name.endswith("-db-sync"):
            assert spec["shareProcessNamespace"] is True, name


@pytest.mark.parametrize("chart", ["keystone", "placement", "glance", "nova", "neutron"])
def test_a_schema_has_minutes_to_be_changed_to_the_end(chart: str) -> None:
    """One that was cut off in the middle is repaired by hand."""
    spec = dict(pod_specs(objects(chart)))[f"Job/{chart}-db-sync"]
    assert "shareProcessNamespace" not in spec
    assert spec["terminationGracePeriodSeconds"] == 600


def test_the_keeper_of_the_primary_ends_at_once(tmp_path: Path, net: Network) -> None:
    keeper = pod("mariadb", "Deployment", "mariadb-controller", tmp_path, net).start("controller")
    wait_until("it looks", lambda: "did not answer" in keeper.log(), keeper.log)
    assert keeper.terminate() < 3
    assert keeper.process.returncode == ENDED


def test_a_database_server_that_waits_for_the_others_ends_at_once(tmp_path: Path, net: Network) -> None:
    for peer in (1, 2):  # an address where no one answers
        with net.hosts.open("a") as file:
            file.write(
                f"10.77.0.25{peer} mariadb-server-{peer}.mariadb-discovery.openstack.svc.cluster.local\n"
            )
    values = merged(nest("pod.replicas.server", 3), nest("volume.chown_on_start", False))
    program = tmp_path / "bin" / "mariadbd"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'mariadbd  Ver 11.4.2-MariaDB for Linux'\n")
    program.chmod(0o755)
    over = {"usr/local/bin": (program.parent,)}
    server = pod("mariadb", "StatefulSet", "mariadb-server", tmp_path, net, values=values, over=over)
    (server.volume("mysql-data") / "mysql").mkdir()
    (server.volume("mysql-data") / ".tables-of-version").write_text("11.4")
    container = server.start("mariadb")
    waiting = server.volume("scratch") / "tmp" / "waiting"
    wait_until("it waits", waiting.exists, container.log)
    assert container.terminate() < 3
    assert container.process.returncode == ENDED
