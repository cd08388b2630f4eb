"""The broker passes through the versions before the one of the target, node by node, without lost data."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from controller.domain.api.names import ACCEPT_VERSION_ANNOTATION
from controller.ports.kubernetes import OSDPL, POD
from tests.fakes.kube import Request
from tests.reconcile.region.test_deployment import KEY
from tests.reconcile.region.upgrade.broker_region import NAME, BrokerRegion
from tests.reconcile.region.upgrade.upgrading_region import NEW

pytestmark = pytest.mark.slow


def finish(region: BrokerRegion, until: str = "identity") -> None:
    """Passes until that step runs: the broker has done all of its own."""
    region.begin(until)


def messages(region: BrokerRegion) -> str:
    return str(region.condition("Upgrading")["message"])


def passes(region: BrokerRegion, number: int) -> None:
    for _ in range(number):
        region.reconcile()
        region.deploy()
        region.clock.advance(31)


def killed_when_held(region: BrokerRegion) -> None:
    """Passes until core has held the pods, and is killed before it has written that down."""

    def kill(request: Request) -> None:
        if request.kind == OSDPL.kind and region.held:
            raise Killed

    region.kube.before_write = kill
    with pytest.raises(Killed):
        passes(region, 30)
    region.kube.before_write = lambda request: None


class Killed(BaseException):
    """The process has ended here."""


@pytest.fixture
def region() -> BrokerRegion:
    return BrokerRegion()


def test_each_version_between_is_a_step_before_that_of_the_target(region: BrokerRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.reconcile()
    names = [step["name"] for step in region.upgrade["steps"] if step["service"] == "messaging"]
    assert names == ["messaging/4.2", "messaging"]
    assert region.condition("SpecValid")["status"] == "True"


def test_the_broker_goes_node_by_node_through_every_version_with_its_flags(region: BrokerRegion) -> None:
    region.edit(openstackVersion=NEW)
    finish(region)
    assert region.versions == [(4, 2), (4, 2), (4, 2), (4, 3), (4, 3), (4, 3)]
    assert region.broker.refusals == []
    assert region.broker.fewest == 2
    assert region.broker.versions == [(4, 3)]
    assert {f"rabbitmq_{one}" for one in ("3.13", "4.2", "4.3")} <= region.broker.enabled
    assert region.held == 0
    assert region.image == "docker.io/rabbitmq:4.3.5"
    assert region.events.emitted.count(("Normal", "UpgradeStepBegun")) == 3  # and identity


def test_a_step_between_changes_the_image_of_the_server_and_nothing_else(region: BrokerRegion) -> None:
    before = dict(region.tags("messaging", "rabbitmq"))
    region.edit(openstackVersion=NEW)
    region.begin("messaging/4.2")
    region.reconcile()
    assert region.tags("messaging", "rabbitmq") == {**before, "rabbitmq": "docker.io/rabbitmq:4.2"}


def test_no_node_stops_before_the_flags_are_enabled(region: BrokerRegion) -> None:
    region.broker.slow = {"rabbitmq_3.13"}
    region.edit(openstackVersion=NEW)
    for _ in range(60):
        region.reconcile()
        if "rabbitmq_3.13" not in region.broker.enabled:
            assert region.versions == [] and region.image.endswith(":3.13")
        region.deploy()
        region.clock.advance(31)
    assert region.broker.refusals == []
    assert region.broker.versions == [(4, 3)]


@pytest.mark.parametrize(
    ("trouble", "text"),
    [
        (lambda region: setattr(region.broker, "alarmed", True), "an alarm of memory or disk is raised"),
        (lambda region: region.broker.silent.update(region.addresses), "does not answer"),
        (
            lambda region: setattr(region.broker, "used", ("transient_nonexcl_queues",)),
            "does not start with transient_nonexcl_queues",
        ),
    ],
)
def test_a_broker_that_is_not_well_fails_the_checks(region: BrokerRegion, trouble, text: str) -> None:  # type: ignore[no-untyped-def]
    trouble(region)
    region.edit(openstackVersion=NEW)
    passes(region, 4)
    assert region.condition("Upgrading")["reason"] == "UpgradeChecksFailed"
    assert text in messages(region)
    assert region.versions == []


def test_no_node_goes_while_queues_would_lose_their_quorum(region: BrokerRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("messaging/4.2")
    region.broker.critical = {region.addresses[2]}
    passes(region, 5)
    assert region.versions == []
    assert f"queues would lose their quorum without {NAME}-2" in messages(region)
    region.broker.critical.clear()
    finish(region)
    assert region.broker.refusals == []


def test_no_node_goes_while_another_one_does_not_run(region: BrokerRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("messaging/4.2")
    region.reconcile()
    region.deploy()
    region.broker.nodes[region.addresses[0]].running = False
    passes(region, 5)
    assert region.versions == []
    assert "node rabbit@0 does not run" in messages(region)
    region.broker.nodes[region.addresses[0]].running = True
    finish(region)
    assert region.broker.fewest == 2


def test_an_image_that_cannot_be_pulled_stops_at_the_first_node_until_it_is_corrected(
    region: BrokerRegion,
) -> None:
    region.broken = {"docker.io/rabbitmq:4.2"}
    region.edit(openstackVersion=NEW)
    region.begin("messaging/4.2")
    passes(region, 6)
    assert region.condition("Upgrading")["reason"] == "UpgradeStepFailed"
    assert "ImagePullBackOff" in messages(region)
    assert sum(node.running for node in region.broker.nodes.values()) == 2
    region.edit(images={"overrides": {"rabbitmq-4.2": "registry.example.org/rabbitmq:4.2.9"}})
    finish(region)
    assert region.broker.refusals == []
    assert region.broker.versions == [(4, 3)]


def test_a_mirror_has_the_images_between_too() -> None:
    region = BrokerRegion(images={"registry": "registry.example.org/mirror"})
    region.edit(openstackVersion=NEW)
    region.begin("messaging/4.2")
    region.reconcile()
    image = region.tags("messaging", "rabbitmq")["rabbitmq"]
    assert image == "registry.example.org/mirror/rabbitmq:4.2"


def test_an_own_image_of_the_server_asks_for_one_of_the_version_between(region: BrokerRegion) -> None:
    own = "registry.example.org/own/rabbitmq"
    region.edit(openstackVersion=NEW, images={"overrides": {"rabbitmq": f"{own}:4.3.5"}})
    passes(region, 4)
    assert region.condition("Upgrading")["reason"] == "UpgradeChecksFailed"
    assert "name its image in spec.images.overrides.rabbitmq-4.2" in messages(region)
    region.edit(images={"overrides": {"rabbitmq-4.2": f"{own}:4.2.9"}})
    finish(region)
    assert region.broker.versions == [(4, 3)]


def test_the_image_of_a_version_between_has_to_be_of_that_version(region: BrokerRegion) -> None:
    region.edit(openstackVersion=NEW, images={"overrides": {"rabbitmq-4.2": "registry.example.org/r:4.1"}})
    passes(region, 4)
    assert "the tag of registry.example.org/r:4.1 does not begin with 4.2" in messages(region)


def test_a_single_node_is_replaced_without_a_quorum() -> None:
    region = BrokerRegion(size=1)
    region.edit(openstackVersion=NEW)
    finish(region)
    assert region.versions == [(4, 2), (4, 3)]
    assert region.broker.refusals == []


def test_pods_that_kubernetes_does_not_replace_are_deleted_by_the_controller(region: BrokerRegion) -> None:
    region._patch({"spec": {"updateStrategy": {"type": "OnDelete"}}})
    region.edit(openstackVersion=NEW)
    finish(region)
    assert region.broker.fewest == 2
    assert region.broker.versions == [(4, 3)]


def test_an_edit_back_before_the_first_node_lets_the_pods_go_and_changes_nothing(
    region: BrokerRegion,
) -> None:
    before = {one["metadata"]["name"]: one["spec"] for one in region.kube.objects("HelmBundle")}
    region.edit(openstackVersion=NEW)
    killed_when_held(region)
    assert region.held == 3
    region.edit(openstackVersion=region.old)
    passes(region, 4)
    assert region.upgrade["phase"] == "Aborted"
    assert {one["metadata"]["name"]: one["spec"] for one in region.kube.objects("HelmBundle")} == before
    assert region.held == 0
    assert region.versions == []


def test_once_a_node_may_go_there_is_no_way_back(region: BrokerRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("messaging/4.2")
    assert region.upgrade["pointOfNoReturn"]
    region.edit(openstackVersion=region.old)
    region.reconcile()
    assert region.condition("Ready")["reason"] == "VersionStepRefused"


def test_what_an_operator_answers_for_is_reached_at_once(region: BrokerRegion) -> None:
    region.broker.silent.update(region.addresses)
    region.annotate(**{ACCEPT_VERSION_ANNOTATION: "rabbitmq=4.3"})
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    names = [step["name"] for step in region.upgrade["steps"] if step["service"] == "messaging"]
    assert names == ["messaging"]
    assert region.held == 0


def test_an_edit_of_the_image_alone_is_refused_still(region: BrokerRegion) -> None:
    region.edit(images={"overrides": {"rabbitmq": "docker.io/rabbitmq:4.3.5"}})
    region.reconcile()
    assert region.condition("Ready")["reason"] == "VersionStepRefused"
    assert region.tags("messaging", "rabbitmq")["rabbitmq"] == "docker.io/rabbitmq:3.13"


def test_a_broker_that_is_at_the_version_already_takes_no_steps() -> None:
    region = BrokerRegion(version="4.3", images={"overrides": {"rabbitmq": "docker.io/rabbitmq:4.3.5"}})
    region.edit(openstackVersion=NEW)
    region.begin("identity")
    assert region.versions == []


def test_a_pod_that_ends_by_itself_comes_back_with_the_version_that_it_had(region: BrokerRegion) -> None:
    region.edit(openstackVersion=NEW)
    region.begin("messaging/4.2")
    region.reconcile()
    assert region.held == 3
    region.kube.delete(POD, f"{NAME}-0", KEY[0])
    region._create_pod(0, "docker.io/rabbitmq:3.13")
    finish(region)
    assert region.broker.refusals == []


def test_a_process_that_is_killed_at_every_write_ends_with_the_same_broker(region: BrokerRegion) -> None:
    """Each write is tried three times: killed before it, killed after it, and then it is left alone."""
    tries: dict[Request, int] = {}

    def before(request: Request) -> None:
        tries[request] = tries.get(request, 0) + 1
        if tries[request] % 3 == 1:
            raise Killed

    def after(request: Request) -> None:
        if tries.get(replace(request, changed=False), 0) % 3 == 2:
            raise Killed

    region.edit(openstackVersion=NEW)
    for _ in range(400):
        region.kube.before_write, region.kube.after_write = before, after
        with suppress(Killed):
            region.reconcile()
        region.kube.before_write = region.kube.after_write = lambda request: None
        region.deploy()
        region.clock.advance(31)
        if region.current == "identity":
            break
    assert region.versions == [(4, 2), (4, 2), (4, 2), (4, 3), (4, 3), (4, 3)]
    assert region.broker.refusals == []
    assert region.broker.fewest == 2
    assert region.held == 0
