"""What FakeCloud, behind HTTP or not, and a real OpenStack have in common: what the reconcilers rely on."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from controller.adapters.openstack.client import OpenStackCloud, OpenStackClouds
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.hosts.host_names import address
from controller.domain.shared.cloud_facts import Migration, Server
from controller.errors import CloudRefused, CloudUnavailable
from sandbox.openstack.services import compute_name
from tests.cluster.region import wait_until
from tests.fakes.cloud import FakeCloud
from tests.fakes.cloud_server import CloudServer, served
from tests.openstack.bed import Bed

Boot = Callable[[str], str]


class Real:
    """The real one, through our adapter."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        clouds = yaml.safe_dump(bed.cloud.clouds()).encode()
        self.port: Any = OpenStackClouds(SystemClock(), SystemRandomness()).open(clouds)

    def boot(self, host: str) -> str:
        return str(self.bed.boot(1, host)[0].id)

    def until(self, check: Callable[[], Any]) -> None:
        wait_until("it is so", check, 120)

    def die(self, host: str) -> None:
        self.bed.cloud.kill(compute_name(host))
        self.bed.wait_service(host, state="down")

    def die_in_task(self, host: str, server: str) -> None:
        self.bed.cloud.kill(compute_name(host))
        # Nova takes it for up a while yet, and the request goes to a queue that no one reads.
        self.bed.sdk.compute.reboot_server(server, "HARD")
        self.bed.wait_service(host, state="down")

    def restart(self, host: str) -> None:
        self.bed.cloud.start(compute_name(host))


class Fake:
    """The one in memory."""

    def __init__(self) -> None:
        self.port: Any = FakeCloud("cmp1", "cmp2", "cmp3")

    def pass_time(self) -> None:
        self.port.pass_time()

    def boot(self, host: str) -> str:
        return self.port.boot(1, host)[0]  # type: ignore[no-any-return]

    def until(self, check: Callable[[], Any]) -> None:
        for _ in range(20):
            if check():
                return
            self.pass_time()
        raise AssertionError("it never came")

    def die(self, host: str) -> None:
        self.port.die(host)

    def die_in_task(self, host: str, server: str) -> None:
        self.port.die(host)
        self.port.catch(server)

    def restart(self, host: str) -> None:
        self.port.restart(host)


class OverHttp(Fake):
    """The one in memory, behind HTTP and through our adapter."""

    def __init__(self, server: CloudServer) -> None:
        self.memory = server.cloud
        self.port = OpenStackClouds(SystemClock(), SystemRandomness()).open(server.clouds())

    def pass_time(self) -> None:
        self.memory.pass_time()

    def boot(self, host: str) -> str:
        return self.memory.boot(1, host)[0]

    def die(self, host: str) -> None:
        self.memory.die(host)

    def die_in_task(self, host: str, server: str) -> None:
        self.memory.die(host)
        self.memory.catch(server)

    def restart(self, host: str) -> None:
        self.memory.restart(host)


REAL = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.exhaustive,
    pytest.mark.xdist_group("openstack"),
]


@pytest.fixture(
    params=["fake", pytest.param("http", marks=pytest.mark.slow), pytest.param("real", marks=REAL)]
)
def world(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "http":
        with served(FakeCloud("cmp1", "cmp2", "cmp3")) as server:
            yield OverHttp(server)
        return
    yield Fake() if request.param == "fake" else Real(request.getfixturevalue("bed"))


def newest(world: Any, server: str) -> Migration:
    found: Migration = world.port.migrations(server)[-1]
    return found


def server(world: Any, id_: str) -> Server:
    found: Server | None = world.port.server(id_)
    assert found is not None
    return found


def service(world: Any, host: str) -> Any:
    return next(one for one in world.port.compute_services() if one.host == host)


def test_hosts_are_complete_and_count_their_servers(world: Any) -> None:
    id_ = world.boot("cmp1")
    assert {one.host for one in world.port.compute_services()} == {"cmp1", "cmp2", "cmp3"}
    world.until(lambda: {one.host: one.servers for one in world.port.hypervisors()}["cmp1"] == 1)
    assert [one.id for one in world.port.servers_on("cmp1")] == [id_]
    assert world.port.servers_on("cmp2") == ()
    assert world.port.allocations("cmp1") == (id_,)


def test_hosts_report_their_address(world: Any) -> None:
    assert all(address(one.address) or one.address == "127.0.0.1" for one in world.port.hypervisors())


def test_what_is_not_there_is_none(world: Any) -> None:
    assert world.port.server("00000000-0000-0000-0000-000000000000") is None
    assert world.port.allocations("nowhere") is None
    assert world.port.migrations("00000000-0000-0000-0000-000000000000") == ()
    assert world.port.compute_service("nowhere") is None
    assert world.port.compute_service("cmp1") == service(world, "cmp1")


def test_what_is_not_there_is_deleted_already(world: Any) -> None:
    """Each service says so in words of its own; a 404 without them would be no answer."""
    nothing = "00000000-0000-0000-0000-000000000000"
    world.port.delete_compute_service(nothing)
    world.port.delete_agent(nothing)
    world.port.delete_allocations(nothing)
    world.port.delete_provider("nowhere")


def test_a_live_migration_takes_one_task_and_leaves_one_record(world: Any) -> None:
    id_ = world.boot("cmp1")
    world.port.live_migrate(id_)
    with pytest.raises(CloudRefused) as refusal:
        world.port.live_migrate(id_)
    assert refusal.value.code == 409
    world.until(lambda: newest(world, id_).ended)
    world.until(lambda: not server(world, id_).task)
    moved = server(world, id_)
    assert (moved.status, moved.host != "cmp1") == ("ACTIVE", True)
    assert [(one.source, one.status) for one in world.port.migrations(id_)] == [("cmp1", "completed")]
    world.until(lambda: world.port.allocations("cmp1") == ())


def test_a_cold_migration_waits_to_be_confirmed(world: Any) -> None:
    id_ = world.boot("cmp1")
    world.port.cold_migrate(id_)
    world.until(lambda: server(world, id_).status == "VERIFY_RESIZE")
    with pytest.raises(CloudRefused) as refusal:
        world.port.delete_compute_service(service(world, "cmp1").id)
    assert refusal.value.code == 409
    assert newest(world, id_).status == "finished"
    world.port.confirm_resize(id_)
    world.until(lambda: newest(world, id_).status == "confirmed")
    assert server(world, id_).host != "cmp1"


def test_a_service_is_disabled_with_words_and_enabled_without(world: Any) -> None:
    id_ = service(world, "cmp1").id
    world.port.set_compute_service(id_, enabled=False, reason="osctl.dev: why")
    found = service(world, "cmp1")
    assert (found.enabled, found.reason, found.up) == (False, "osctl.dev: why", True)
    world.port.set_compute_service(id_, enabled=True)
    assert (service(world, "cmp1").enabled, service(world, "cmp1").reason) == (True, "")


def test_a_service_is_disabled_without_words_and_forgets_those_before(world: Any) -> None:
    id_ = service(world, "cmp1").id
    world.port.set_compute_service(id_, enabled=False, reason="osctl.dev: why")
    world.port.set_compute_service(id_, enabled=False)
    assert (service(world, "cmp1").enabled, service(world, "cmp1").reason) == (False, "")
    world.port.set_compute_service(id_, enabled=True)


def test_a_service_that_has_servers_is_not_deleted(world: Any) -> None:
    world.boot("cmp1")
    with pytest.raises(CloudRefused) as refusal:
        world.port.delete_compute_service(service(world, "cmp1").id)
    assert refusal.value.code == 409


def test_an_evacuated_host_is_not_freed_before_it_cleaned_up(world: Any) -> None:
    id_ = world.boot("cmp3")
    world.die("cmp3")
    compute = service(world, "cmp3").id
    world.port.force_down(compute, down=True)
    world.port.evacuate(id_)
    world.until(lambda: newest(world, id_).status == "done" and not server(world, id_).task)
    assert server(world, id_).host != "cmp3"
    with pytest.raises(CloudRefused) as refusal:
        world.port.force_down(compute, down=False)
    assert refusal.value.code == 400
    world.restart("cmp3")

    def freed() -> bool:
        try:
            world.port.force_down(compute, down=False)
        except CloudRefused:
            return False
        return True

    world.until(freed)


def test_a_server_whose_host_died_in_a_task_is_evacuated(world: Any) -> None:
    id_ = world.boot("cmp3")
    world.die_in_task("cmp3", id_)
    caught = server(world, id_)
    assert (caught.task, caught.state, caught.status) == ("rebooting_hard", "active", "HARD_REBOOT")
    world.port.force_down(service(world, "cmp3").id, down=True)
    world.port.evacuate(id_)
    world.until(lambda: newest(world, id_).status == "done" and not server(world, id_).task)
    moved = server(world, id_)
    assert (moved.state, moved.status, moved.host != "cmp3") == ("active", "ACTIVE", True)
    assert [(one.kind, one.source) for one in world.port.migrations(id_)] == [("evacuation", "cmp3")]


def test_what_runs_is_not_evacuated(world: Any) -> None:
    with pytest.raises(CloudRefused):
        world.port.evacuate(world.boot("cmp1"))


def test_wrong_credentials_are_no_answer(world: Any) -> None:
    if isinstance(world, Fake):
        return
    clouds: Any = world.bed.cloud.clouds()
    clouds["clouds"]["default"]["auth"]["password"] = "planted-secret"
    text = yaml.safe_dump(clouds).encode()
    port: OpenStackCloud = OpenStackClouds(SystemClock(), SystemRandomness()).open(text)
    with pytest.raises(CloudUnavailable) as error:
        port.compute_services()
    assert "planted-secret" not in str(error.value) and base64.b64encode(text).decode() not in str(
        error.value
    )
