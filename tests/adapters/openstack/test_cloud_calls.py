"""Requests to OpenStack: repeated only where that is harmless, patient where asked, never half believed."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import keystoneauth1.exceptions as failures
import pytest

from controller.adapters.openstack.answers import LONGEST_PAUSE, retry_after
from controller.adapters.openstack.calls import ANSWER_WITHIN, READ_WITHIN, CloudCalls, Login
from controller.adapters.openstack.client import OpenStackCloud, OpenStackClouds
from controller.adapters.openstack.server_cloud import OpenStackServerCloud
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.servers.cloud_resources import Kind
from controller.errors import CloudRefused, CloudUnavailable
from tests.fakes.world import FakeClock

SERVICES = ("compute", "network", "block_storage", "placement", "identity")


class Body(io.BytesIO):
    def read1(self, size: int | None = -1, /, *, decode_content: bool = False) -> bytes:
        assert decode_content
        return super().read1(size if size is not None else -1)


class Answer:
    def __init__(self, status: int = 200, body: Any = None, content: bytes = b"", **headers: str) -> None:
        self.status_code = status
        self._content = content or json.dumps(body if body is not None else {}).encode()
        self.headers = {key.replace("_", "-"): value for key, value in headers.items()}

    @property
    def raw(self) -> Body:
        return Body(self._content)

    def close(self) -> None:
        """The connection is free again."""


class Service:
    """Answers from a list; the last one stays."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    def request(self, path: str, method: str, **more: Any) -> Answer:
        self.asked.append((method, path, more))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Calls(CloudCalls):
    """Calls to a service of the test's own, on a clock that sleeping advances."""

    def __init__(self, service: Service) -> None:
        self.clock = FakeClock()
        super().__init__({}, self.clock, SystemRandomness(), sleep=self.clock.advance)
        self.service = service

    def _connection(self) -> Any:
        return type("Connection", (), dict.fromkeys(SERVICES, self.service))()


BROKEN = [
    Answer(503),
    Answer(500),
    Answer(429),
    Answer(content=b'{"services": [{"bin'),
    failures.ConnectFailure("refused"),
    failures.ConnectTimeout("late"),
]


def named(broken: Any) -> str:
    return f"{type(broken).__name__}{getattr(broken, 'status_code', '')}"


@pytest.mark.parametrize("broken", BROKEN, ids=named)
def test_a_read_is_repeated_until_it_succeeds(broken: Any) -> None:
    service = Service(broken, broken, Answer(body={"a": 1}))
    assert Calls(service).get("compute", "/x") == {"a": 1}
    assert len(service.asked) == 3


@pytest.mark.parametrize("broken", BROKEN, ids=named)
def test_a_read_ends_in_time(broken: Any) -> None:
    calls = Calls(Service(broken))
    began = calls.clock.monotonic()
    with pytest.raises(CloudUnavailable):
        calls.get("compute", "/x")
    assert calls.clock.monotonic() - began <= READ_WITHIN


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("broken", BROKEN, ids=named)
def test_a_write_is_sent_once_and_no_library_sends_it_again(method: str, broken: Any) -> None:
    service = Service(broken)
    with pytest.raises(CloudUnavailable):
        Calls(service).send(method, "compute", "/x", {})
    [(_, _, more)] = service.asked
    assert (more["connect_retries"], more["status_code_retries"]) == (0, 0)


def test_a_service_that_asks_for_a_pause_is_left_alone_for_that_long() -> None:
    service = Service(Answer(429, Retry_After="60"), Answer(body={}))
    calls = Calls(service)
    with pytest.raises(CloudUnavailable) as error:
        calls.get("compute", "/x")
    assert error.value.retry_after == 60
    for _ in range(5):
        with pytest.raises(CloudUnavailable):
            calls.send("POST", "compute", "/y", {})
    assert len(service.asked) == 1
    assert calls.get("network", "/z") == {}
    calls.clock.advance(61)
    calls.send("POST", "compute", "/y", {})


def test_refusals_carry_the_words_of_the_service() -> None:
    service = Service(Answer(409, {"conflictingRequest": {"message": "hosting instances", "code": 409}}))
    with pytest.raises(CloudRefused, match="hosting instances") as error:
        Calls(service).send("DELETE", "compute", "/x", None)
    assert error.value.code == 409


# As the services word it, and as others do.
ABSENT: dict[str, Any] = {
    "compute": {"itemNotFound": {"code": 404, "message": "Instance x could not be found."}},
    "block_storage": {"itemNotFound": {"code": 404, "message": "The resource could not be found."}},
    "network": {"NeutronError": {"type": "AgentNotFound", "message": "Agent x could not be found"}},
    "placement": {"errors": [{"status": 404, "title": "Not Found", "detail": "No resource provider"}]},
}
NOT_OF_THE_SERVICE = [
    Answer(404, content=b"default backend - 404", Content_Type="text/html"),
    Answer(404, content=b"<html>404 Not Found</html>"),
    Answer(404),
    Answer(404, ["itemNotFound"]),
    Answer(404, {"error": {"code": 404, "message": "no route"}}),
    Answer(404, {"message": "no Route matched with those values"}),
    Answer(404, {"itemNotFound": "x", "errors": [], "NeutronError": {"type": "HTTPNotFound"}}),
]


@pytest.mark.parametrize("service", ABSENT)
def test_what_the_service_says_is_not_there_is_none_for_reads_and_deletions_only(service: str) -> None:
    absent = Answer(404, ABSENT[service])
    assert Calls(Service(absent)).get(service, "/x") is None
    assert Calls(Service(absent)).send("DELETE", service, "/x", None) is None
    with pytest.raises(CloudRefused):
        Calls(Service(absent)).send("POST", service, "/x", {})


@pytest.mark.parametrize("answer", NOT_OF_THE_SERVICE, ids=lambda one: repr(one.raw.getvalue())[:30])
@pytest.mark.parametrize("service", ABSENT)
def test_a_404_of_something_else_says_nothing(service: str, answer: Answer) -> None:
    with pytest.raises(CloudUnavailable, match="404, and the answer does not come from the service itself"):
        Calls(Service(answer)).get(service, "/x")
    for method in ("DELETE", "POST"):
        with pytest.raises(
            CloudUnavailable, match="404, and the answer does not come from the service itself"
        ):
            Calls(Service(answer)).send(method, service, "/x", None)


@pytest.mark.parametrize(
    "ask",
    [
        lambda cloud: cloud.server("x"),
        lambda cloud: cloud.allocations("cmp1"),
        lambda cloud: cloud.delete_compute_service("x"),
        lambda cloud: cloud.delete_provider("cmp1"),
    ],
)
def test_an_ingress_without_a_backend_makes_no_server_and_no_allocation_disappear(ask: Any) -> None:
    with pytest.raises(CloudUnavailable):
        ask(OpenStackCloud(Calls(Service(NOT_OF_THE_SERVICE[0]))))


def test_a_provider_that_is_gone_is_looked_for_by_name_before_it_is_said_that_there_is_none() -> None:
    """Another machine took the host's name: its provider has another id."""
    hypervisors = {"hypervisors": [{"id": "old", "service": {"host": "cmp1"}}]}
    service = Service(
        Answer(body=hypervisors),
        Answer(404, ABSENT["placement"]),
        Answer(body={"resource_providers": [{"uuid": "new"}]}),
        Answer(body={"allocations": {"server": {}}}),
    )
    cloud = OpenStackCloud(Calls(service))
    cloud.hypervisors()
    assert cloud.allocations("cmp1") == ("server",)
    assert service.asked[-1][1] == "/resource_providers/new/allocations"


def providers(*names: str) -> Answer:
    ids = {name: f"id of {name}" for name in names}
    listed = [{"uuid": id_, "name": name, "root_provider_uuid": id_} for name, id_ in ids.items()]
    return Answer(body={"resource_providers": listed})


def test_the_provider_of_a_hypervisor_is_found_by_its_domain_name_when_nova_lists_it_no_more() -> None:
    """A process that has just started, and a host whose service is deleted already."""
    listed = providers("cmp1.example.org", "cmp10.example.org", "cmp2.example.org")
    service = Service(providers(), listed, Answer(body={"allocations": {"server": {}}}))
    assert OpenStackCloud(Calls(service)).allocations("cmp1") == ("server",)
    assert service.asked[-1][1] == "/resource_providers/id of cmp1.example.org/allocations"


def test_of_two_providers_that_may_be_meant_nothing_is_known() -> None:
    listed = providers("cmp1.one.example", "cmp1.other.example")
    with pytest.raises(CloudUnavailable, match="2 providers"):
        OpenStackCloud(Calls(Service(providers(), listed))).delete_provider("cmp1")


def test_the_provider_that_nova_listed_is_deleted_by_its_id() -> None:
    hypervisors = {"hypervisors": [{"id": "the-id", "service": {"host": "cmp1"}}]}
    service = Service(Answer(body=hypervisors), Answer(204))
    cloud = OpenStackCloud(Calls(service))
    cloud.hypervisors()
    cloud.delete_provider("cmp1")
    assert [path for _, path, _ in service.asked][1:] == ["/resource_providers/the-id"]


def page(*ids: str, more: bool) -> Answer:
    links = [{"rel": "next", "href": "http://elsewhere/"}] if more else []
    return Answer(body={"items": [{"id": one} for one in ids], "items_links": links})


def test_all_pages_of_a_list_are_read() -> None:
    service = Service(page("a", "b", more=True), page("c", more=False))
    found = Calls(service).pages("compute", "/items", "items", {"host": "h"}, "")
    assert [one["id"] for one in found] == ["a", "b", "c"]
    assert [more["params"].get("marker") for _, _, more in service.asked] == [None, "b"]


@pytest.mark.parametrize(
    "second",
    [
        Answer(404, ABSENT["compute"]),
        Answer(404),
        Answer(body={}),
        Answer(body={"items": None}),
        page("b", more=True),
        page(more=True),
    ],
)
def test_a_list_that_does_not_come_whole_is_no_list(second: Answer) -> None:
    calls = Calls(Service(page("a", "b", more=True), second))
    with pytest.raises(CloudUnavailable):
        list(calls.pages("compute", "/items", "items", {}, ""))


def cloud(body: Any) -> OpenStackCloud:
    return OpenStackCloud(Calls(Service(Answer(body=body))))


def test_services_and_servers_of_a_cell_that_is_down_are_not_known() -> None:
    with pytest.raises(CloudUnavailable, match="cell"):
        cloud(
            {"services": [{"binary": "nova-compute", "host": "cmp1", "status": "UNKNOWN"}]}
        ).compute_services()
    with pytest.raises(CloudUnavailable, match="cell"):
        cloud({"server": {"id": "a", "status": "UNKNOWN"}}).server("a")


@pytest.mark.parametrize("down", [0, 2], ids=["before", "after"])
def test_a_list_of_servers_that_hides_a_cell_is_not_believed(down: int) -> None:
    up, unknown = {"services": []}, {"services": [{"host": "cmp1", "status": "UNKNOWN"}]}
    answers: list[dict[str, Any]] = [up, {"servers": []}, up]
    answers[down] = unknown
    calls = Calls(Service(*(Answer(body=body) for body in answers)))
    with pytest.raises(CloudUnavailable, match="cell"):
        OpenStackCloud(calls).servers_on("cmp1")


@pytest.mark.parametrize("down", [0, 3], ids=["before", "after"])
def test_servers_of_an_object_in_a_cell_that_is_down_are_not_missing(down: int) -> None:
    answers: list[dict[str, Any]] = [{"servers": []}] * 4
    answers[down] = {"servers": [{"id": "a", "status": "UNKNOWN"}]}
    service = Service(*(Answer(body=body) for body in answers))
    calls = Calls(service)
    calls.login = lambda: Login("user", "project", "default", frozenset())  # type: ignore[method-assign]
    with pytest.raises(CloudUnavailable, match="cell"):
        OpenStackServerCloud(calls).marked(Kind.SERVER, "osctl-server-1", "bastion")
    # Nova tells of such a cell only where it is asked for no page, and with no filter.
    assert not service.asked[down][2].get("params")


def test_the_compute_service_of_one_host_is_asked_for_alone() -> None:
    found = {"id": "1", "binary": "nova-compute", "host": "cmp1", "status": "enabled", "state": "up"}
    service = Service(Answer(body={"services": [found]}))
    port = OpenStackCloud(Calls(service))
    assert port.compute_service("cmp1") is not None
    assert port.compute_service("cmp2") is None
    assert [more["params"]["host"] for _, _, more in service.asked] == ["cmp1", "cmp2"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"clouds: []",
        b"clouds: {}",
        b"clouds: {a: {auth: {}}}",
        b"\xff",
        b"clouds: {a: {}, b: {}}",
        b"[1]",
    ],
)
def test_what_is_no_clouds_yaml_is_refused_without_quoting_it(text: bytes) -> None:
    with pytest.raises(CloudRefused, match=r"^the credentials are not a clouds\.yaml"):
        OpenStackClouds(SystemClock(), SystemRandomness()).open(text)


@pytest.mark.parametrize(
    ("asked", "pause"),
    [
        ("60", 60),
        ("Sun, 24 May 2026 20:27:10 GMT", 30),
        ("Sun, 24 May 2026 20:20:00 GMT", 0),
        ("Mon, 25 May 2026 20:27:10 GMT", LONGEST_PAUSE),
        ("1e9", LONGEST_PAUSE),
        ("nan", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_pause_is_asked_for_in_seconds_or_until_a_time(asked: str, pause: float | None) -> None:
    now = datetime(2026, 5, 24, 20, 26, 40, tzinfo=UTC).timestamp()
    assert retry_after(asked, now) == pause


def test_the_next_page_of_migrations_is_asked_for_by_uuid() -> None:
    """From 2.59 on the marker is no number (nova/api/openstack/compute/migrations.py)."""
    entry = {"instance_uuid": "s", "migration_type": "migration", "status": "done"}
    first = {"migrations": [{**entry, "id": 2, "uuid": "two"}], "migrations_links": [{"rel": "next"}]}
    second = {"migrations": [{**entry, "id": 1, "uuid": "one"}]}
    service = Service(Answer(body=first), Answer(body=second))
    assert [one.id for one in OpenStackCloud(Calls(service)).migrations("s")] == [1, 2]
    assert [more["params"].get("marker") for _, _, more in service.asked] == [None, "two"]


def test_an_answer_that_drips_ends_in_time() -> None:
    calls = Calls(Service(Answer()))

    class Dripping(Answer):
        closed = False

        @property
        def raw(self) -> Any:
            return self

        def read1(self, size: int, *, decode_content: bool) -> bytes:
            calls.clock.advance(10)
            return b" "

        def close(self) -> None:
            self.closed = True

    answer = Dripping()
    calls.service = Service(answer)
    began = calls.clock.monotonic()
    with pytest.raises(CloudUnavailable, match="does not come to an end"):
        calls.send("POST", "compute", "/x", {})
    assert calls.clock.monotonic() - began <= ANSWER_WITHIN + 10 and answer.closed


def test_a_server_has_the_properties_of_its_image_and_none_where_it_boots_from_a_volume() -> None:
    entry = {"id": "s", "status": "ACTIVE", "flavor": {"ram": 512, "extra_specs": {}}}
    image = {"id": "i", "properties": {"hw_cpu_policy": "dedicated"}}
    local = Calls(Service(Answer(body={"server": {**entry, "image": image}})))
    found = OpenStackCloud(local).server("s")
    assert found is not None and found.local_disk and found.image == {"hw_cpu_policy": "dedicated"}
    found = OpenStackCloud(Calls(Service(Answer(body={"server": {**entry, "image": ""}})))).server("s")
    assert found is not None and not found.local_disk and found.image == {}


def test_an_aggregate_that_was_made_and_not_marked_before_a_kill_is_marked_the_next_time() -> None:
    bare = {"id": 7, "name": "rack1", "availability_zone": "az1", "hosts": []}
    zone = {"availability_zone": "az1"}
    service = Service(
        Answer(body={"aggregates": [{**bare, "metadata": zone}]}), Answer(body={"aggregate": bare})
    )
    assert OpenStackCloud(Calls(service)).ensure_aggregate("rack1", zone="az1", begun=True).ours
    assert [path for _, path, _ in service.asked] == ["/os-aggregates", "/os-aggregates/7/action"]


def test_an_aggregate_that_a_person_has_just_made_is_not_marked() -> None:
    bare = {"id": 7, "name": "rack1", "availability_zone": "az1", "hosts": []}
    service = Service(Answer(body={"aggregates": [{**bare, "metadata": {"availability_zone": "az1"}}]}))
    assert not OpenStackCloud(Calls(service)).ensure_aggregate("rack1", zone="az1").ours
    assert len(service.asked) == 1


def test_an_aggregate_was_created_at_a_time_of_utc() -> None:
    made = {"id": 7, "name": "rack1", "created_at": "2026-01-02T03:04:05.500000"}
    service = Service(Answer(body={"aggregates": [made, {"id": 8, "name": "old", "created_at": None}]}))
    assert [one.created for one in OpenStackCloud(Calls(service)).aggregates()] == [1767323045.5, 0.0]


def test_an_aggregate_of_others_is_not_marked() -> None:
    theirs = {"id": 7, "name": "rack1", "hosts": ["cmp9"], "metadata": {"ssd": "true"}}
    service = Service(Answer(body={"aggregates": [theirs]}))
    assert not OpenStackCloud(Calls(service)).ensure_aggregate("rack1", zone="").ours
    assert len(service.asked) == 1
