"""What the cloud in memory and a real OpenStack have in common: what the reconciler relies on."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import yaml

from controller.adapters.openstack.server_cloud import OpenStackServerClouds
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.servers.cloud_resources import REMOVAL_ORDER, CloudResource, Kind
from controller.domain.servers.plan import PlannedThing, ServerPlan
from controller.domain.servers.server_spec import Reference, parse_server_spec
from controller.domain.servers.server_status import Recorded, Resolved, ResolvedPort, ServerRecord
from controller.errors import CloudMissing, CloudRefused, CloudUnavailable
from controller.ports.servers import Catalog, ServerCloud
from tests.api.definitions import server
from tests.cluster.region import wait_until
from tests.fakes.servers import FakeServerCloud

REAL = pytest.param(
    "real",
    marks=[
        pytest.mark.cluster,
        pytest.mark.openstack,
        pytest.mark.xdist_group("openstack"),
        pytest.mark.timeout(1500),
    ],
)


class OneServer:
    """A cloud, and the requests of one object."""

    def __init__(
        self,
        cloud: ServerCloud,
        until: Callable[[str, Callable[[], Any]], Any],
        cell_down: Callable[[], AbstractContextManager[None]],
        planted: Callable[[str], AbstractContextManager[str]],
    ) -> None:
        self.cloud = cloud
        self.until = until
        self.cell_down = cell_down
        self.planted = planted
        data = {"name": "data", "sizeGiB": 1, "storage": {"type": "Volume"}}
        spec = parse_server_spec(
            server(
                rootVolume={"sizeGiB": 1},
                additionalBlockDevices=[data],
                floatingIP={"pool": "public"},
                trunk=True,
            )
        )
        self.plan = ServerPlan(f"contract-{secrets.token_hex(3)}", secrets.token_hex(16), spec)
        self.record = ServerRecord()
        self.resolved = Resolved(
            "digest",
            *cloud.find(Catalog.IMAGE, Reference(query={"name": "tiny"})),
            *cloud.find(Catalog.FLAVOR, Reference(query={"name": "small"})),
            ports=(ResolvedPort(*cloud.find(Catalog.NETWORK, Reference(query={"name": "net0"}))),),
            floating_network=next(iter(cloud.find(Catalog.NETWORK, Reference(query={"name": "public"}))), ""),
        )

    def make(self, kind: Kind, at: int = 0) -> str:
        thing: PlannedThing = self.plan.of(kind)[at]
        made = self.cloud.create(kind, self.plan.body(thing, self.resolved, self.record))
        self.record = self.record.with_things([Recorded(kind, thing.name, made.id)])
        return made.id

    def marked(self, kind: Kind) -> list[str]:
        return [one.id for one in self.cloud.marked(kind, self.plan.mark, self.plan.name)]

    def read(self, id_: str, kind: Kind) -> Any:
        return self.cloud.read(kind, id_)

    def clean(self) -> None:
        for kind in REMOVAL_ORDER:
            for one in self.cloud.marked(kind, self.plan.mark, self.plan.name):
                self.cloud.delete(one)
            self.until(f"no {kind}", lambda kind=kind: not self.marked(kind))


@pytest.fixture(params=["fake", REAL])
def one(request: pytest.FixtureRequest) -> Iterator[OneServer]:
    if request.param == "fake":
        fake = FakeServerCloud()

        def until(what: str, check: Callable[[], Any]) -> None:
            for _ in range(5):
                if check():
                    return
                fake.pass_time()
            raise AssertionError(what)

        @contextmanager
        def cell_down() -> Iterator[None]:
            fake.hidden = {one.id for one in fake.of(Kind.SERVER)}
            yield
            fake.hidden = set()

        @contextmanager
        def planted(mark: str) -> Iterator[str]:
            port = CloudResource(Kind.PORT, "planted", marks=frozenset({mark}), project="stranger")
            fake.things[port.id] = port
            yield port.id
            del fake.things[port.id]

        yield OneServer(fake, until, cell_down, planted)
        return
    bed = request.getfixturevalue("shared_servers")
    content = yaml.safe_dump(bed.cloud.clouds()).encode()
    cloud = OpenStackServerClouds(SystemClock(), SystemRandomness()).open(content)
    made = OneServer(
        cloud,
        lambda what, check: wait_until(what, check, 180),
        bed.cloud.cell_down,
        lambda mark: _planted_by_a_stranger(bed.sdk, mark),
    )
    yield made
    made.clean()
    cloud.close()


@contextmanager
def _planted_by_a_stranger(sdk: Any, mark: str) -> Iterator[str]:
    """A port of another project with this mark, in a network of its own with the name of ours."""
    project = sdk.identity.create_project(name=f"stranger-{secrets.token_hex(4)}", domain_id="default")
    network = sdk.network.create_network(name="net0", project_id=project.id)
    cidr = "10.99.0.0/24"
    sdk.network.create_subnet(
        network_id=network.id, project_id=project.id, name="sub0", ip_version=4, cidr=cidr
    )
    port = sdk.network.create_port(network_id=network.id, project_id=project.id, description=mark)
    sdk.network.set_tags(port, [mark])
    image = sdk.image.create_image(
        "tiny", data=b"x", container_format="bare", disk_format="raw", owner=project.id, wait=True
    )
    try:
        yield port.id
    finally:
        sdk.network.delete_port(port)
        sdk.network.delete_network(network)
        sdk.image.delete_image(image)
        sdk.identity.delete_project(project)


def _make_what_it_boots_from(one: OneServer) -> None:
    one.make(Kind.PORT)
    volumes = [one.make(Kind.VOLUME, at) for at in range(len(one.plan.of(Kind.VOLUME)))]
    for volume in volumes:
        one.until(
            "the volume is there",
            lambda volume=volume: one.read(volume, Kind.VOLUME).status == "available",
        )


def _boot(one: OneServer) -> str:
    _make_what_it_boots_from(one)
    made = one.make(Kind.SERVER)
    one.until("it is ACTIVE", lambda: one.read(made, Kind.SERVER).status == "ACTIVE")
    return made


def test_what_was_made_is_read_by_its_id_and_found_by_its_mark(one: OneServer) -> None:
    for kind in (Kind.PORT, Kind.TRUNK, Kind.VOLUME, Kind.FLOATING_IP):
        id_ = one.make(kind)
        found = one.read(id_, kind)
        assert (found.id, found.kind, found.is_of(one.plan.mark)) == (id_, kind, True)
        assert one.marked(kind) == [id_]
    assert one.cloud.marked(Kind.PORT, "osctl-server-other", one.plan.name) == ()


def test_what_another_project_has_marked_is_neither_found_nor_read(one: OneServer) -> None:
    ours = one.make(Kind.PORT)
    with one.planted(one.plan.mark) as port:
        assert one.marked(Kind.PORT) == [ours]
        assert one.read(port, Kind.PORT) is None and one.read(ours, Kind.PORT) is not None


def test_what_another_project_calls_like_ours_is_not_what_is_referred_to(one: OneServer) -> None:
    named = [(Catalog.NETWORK, "net0"), (Catalog.SUBNET, "sub0"), (Catalog.IMAGE, "tiny")]
    before = [one.cloud.find(catalog, Reference(query={"name": name})) for catalog, name in named]
    with one.planted(one.plan.mark):
        assert [one.cloud.find(catalog, Reference(query={"name": name})) for catalog, name in named] == before


def test_a_server_is_found_by_its_mark_from_the_request_on(one: OneServer) -> None:
    _make_what_it_boots_from(one)
    made = one.make(Kind.SERVER)
    assert one.marked(Kind.SERVER) == [made]
    one.until("it is ACTIVE", lambda: one.read(made, Kind.SERVER).status == "ACTIVE")
    assert one.marked(Kind.SERVER) == [made]


def test_a_server_has_its_port_and_volumes_and_frees_them_when_it_goes(one: OneServer) -> None:
    made = _boot(one)
    (port,), (volume, other) = one.marked(Kind.PORT), one.marked(Kind.VOLUME)
    assert one.read(port, Kind.PORT).used_by == made
    assert one.read(volume, Kind.VOLUME).used_by == one.read(other, Kind.VOLUME).used_by == made
    assert [type_ for type_, _ in one.read(made, Kind.SERVER).addresses] == ["InternalIP"]
    one.cloud.delete(one.read(made, Kind.SERVER))
    one.until("it is gone", lambda: one.read(made, Kind.SERVER) is None)
    assert one.read(port, Kind.PORT).used_by == ""
    for each in (volume, other):
        one.until("the volume is free", lambda each=each: one.read(each, Kind.VOLUME).status == "available")


def test_a_server_that_nova_refuses_leaves_its_volumes_reserved_and_they_are_released(one: OneServer) -> None:
    _make_what_it_boots_from(one)
    [thing] = one.plan.of(Kind.SERVER)
    body = one.plan.body(thing, one.resolved, one.record)
    on_host = {"source_type": "blank", "destination_type": "local", "volume_size": 100, "boot_index": -1}
    body["server"]["block_device_mapping_v2"].append({**on_host, "delete_on_termination": True})
    with pytest.raises(CloudRefused):
        one.cloud.create(Kind.SERVER, body)
    for volume in one.marked(Kind.VOLUME):
        assert one.read(volume, Kind.VOLUME).status == "reserved"
        with pytest.raises(CloudRefused):
            one.cloud.delete(one.read(volume, Kind.VOLUME))
        assert one.cloud.release_volume(volume)
        assert one.read(volume, Kind.VOLUME).status == "available"
        assert not one.cloud.release_volume(volume)


def test_a_volume_of_a_server_that_is_there_is_not_released(one: OneServer) -> None:
    _boot(one)
    for volume in one.marked(Kind.VOLUME):
        assert not one.cloud.release_volume(volume)
        assert one.read(volume, Kind.VOLUME).status == "in-use"


def test_a_cell_that_is_down_hides_no_server_from_a_search(one: OneServer) -> None:
    made = _boot(one)
    with one.cell_down():
        with pytest.raises(CloudUnavailable):
            one.marked(Kind.SERVER)
        assert one.read(made, Kind.SERVER).status == "UNKNOWN"
    assert one.marked(Kind.SERVER) == [made]


def test_what_something_else_stands_on_is_not_deleted(one: OneServer) -> None:
    port, volume = one.make(Kind.PORT), one.make(Kind.VOLUME)
    one.make(Kind.TRUNK)
    one.until("the volume is there", lambda: one.read(volume, Kind.VOLUME).status == "available")
    with pytest.raises(CloudRefused):
        one.cloud.delete(one.read(port, Kind.PORT))
    other = one.make(Kind.VOLUME, 1)
    one.until("the volume is there", lambda: one.read(other, Kind.VOLUME).status == "available")
    server = one.make(Kind.SERVER)
    one.until("it is ACTIVE", lambda: one.read(server, Kind.SERVER).status == "ACTIVE")
    with pytest.raises(CloudRefused):
        one.cloud.delete(one.read(volume, Kind.VOLUME))
    assert one.marked(Kind.PORT) == [port] and volume in one.marked(Kind.VOLUME)


def test_tags_are_set_and_read(one: OneServer) -> None:
    for kind in (Kind.PORT, Kind.TRUNK, Kind.FLOATING_IP):
        made = one.make(kind)
        one.cloud.set_tags(one.read(made, kind), {one.plan.mark, "mine"})
        assert one.read(made, kind).tags == {one.plan.mark, "mine"}


def test_a_floating_ip_is_put_to_a_port(one: OneServer) -> None:
    port, floating = one.make(Kind.PORT), one.make(Kind.FLOATING_IP)
    one.cloud.point_floating_ip(floating, port)
    found = one.read(floating, Kind.FLOATING_IP)
    assert found.used_by == port and [type_ for type_, _ in found.addresses] == ["ExternalIP"]


def test_what_is_gone_is_none_and_may_be_deleted_again(one: OneServer) -> None:
    port = one.make(Kind.PORT)
    found = one.read(port, Kind.PORT)
    one.cloud.delete(found)
    one.cloud.delete(found)
    assert one.read(port, Kind.PORT) is None and one.marked(Kind.PORT) == []


def test_a_port_that_a_server_has_is_not_given_to_another_one(one: OneServer) -> None:
    _boot(one)
    with pytest.raises(CloudRefused):
        one.make(Kind.SERVER)
    assert len(one.marked(Kind.SERVER)) == 1


def test_what_is_not_there_is_not_found(one: OneServer) -> None:
    absent = Reference(query={"name": f"absent-{secrets.token_hex(4)}"})
    assert [one.cloud.find(catalog, absent) for catalog in Catalog] == [()] * len(Catalog)


def test_a_subnet_shows_its_network(one: OneServer) -> None:
    (subnet,) = one.cloud.find(Catalog.SUBNET, Reference(query={"name": "sub0"}))
    assert one.cloud.network_of(subnet) == one.resolved.ports[0].network
    assert one.cloud.network_of(str(uuid.uuid4())) == ""


def test_a_cloud_that_the_text_does_not_have_is_reported_as_such() -> None:
    clouds = OpenStackServerClouds(SystemClock(), SystemRandomness())
    auth = {"auth_url": "https://192.0.2.1/v3", "username": "a", "password": "b"}
    content = yaml.safe_dump({"clouds": {"team": {"auth": auth, "regions": ["one", "two"]}}}).encode()
    clouds.open(content, cloud="team", region="two")
    for wrong in ({"cloud": "other"}, {"cloud": "team", "region": "three"}):
        with pytest.raises(CloudMissing):
            clouds.open(content, **wrong)


@pytest.mark.parametrize(
    "given", [{"cert": "/etc/passwd", "key": "/etc/passwd"}, {"auth_type": "v3oidcpassword"}], ids=str
)
def test_a_text_of_others_may_use_nothing_of_the_container(given: dict[str, str]) -> None:
    clouds = OpenStackServerClouds(SystemClock(), SystemRandomness())
    auth = {"auth_url": "https://192.0.2.1/v3", "username": "a", "password": "b"}
    content = yaml.safe_dump({"clouds": {"team": {"auth": auth, **given}}}).encode()
    with pytest.raises(CloudRefused):
        clouds.open(content)
