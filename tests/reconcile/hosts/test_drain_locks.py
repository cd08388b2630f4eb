"""Which nodes' drains are held back, and when that ends."""

from __future__ import annotations

import pytest

from controller.domain.api.names import DRAIN_LOCK_LABEL
from controller.domain.hosts.next_step import MISSING_OBSERVATIONS
from controller.domain.shared.cloud_facts import Hypervisor
from controller.errors import Forbidden
from controller.ports.kubernetes import NODE, OSDPL, PDB, POD, Resource
from controller.reconcile.hosts.drain_locks.pods import DrainLocks
from tests.fakes.kube import Request
from tests.reconcile.node_world import NAMESPACE, NodeWorld, fail
from tests.reconcile.watched import NAME

ROLE = "openstack-compute-node"


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2")
    world.cloud.boot(2, "cmp1")
    world.reconcile(2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})
    return world


def locked(world: NodeWorld) -> tuple[set[str], set[str]]:
    """Nodes with a lock's pod, and with its budget."""
    found = [world.kube.list(resource, NAMESPACE) for resource in (POD, PDB)]
    pods, budgets = ({one["metadata"]["annotations"]["osctl.dev/node"] for one in kind} for kind in found)
    return pods, budgets


def test_a_node_with_servers_is_locked_until_they_are_gone(world: NodeWorld) -> None:
    [pod] = world.kube.objects("Pod")
    assert pod["spec"]["nodeName"] == "cmp1"
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Node"
    [budget] = world.kube.objects("PodDisruptionBudget")
    assert budget["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert world.status("cmp1")["drainLocked"] == "2 servers are on it"
    world.cloud.before = fail()
    world.cloud.hosted.clear()
    world.reconcile(2)
    assert world.kube.objects("Pod")  # not known to be empty
    world.cloud.before = lambda *_: None
    world.reconcile(MISSING_OBSERVATIONS - 1)
    assert world.kube.list(POD, NAMESPACE)
    world.reconcile(1)
    assert world.kube.list(POD, NAMESPACE) == [] and world.kube.list(PDB, NAMESPACE) == []


@pytest.mark.parametrize(
    ("release", "component"),
    [
        ("mariadb", "server"),
        ("rabbitmq", "server"),
        ("ovn", "ovn-ovsdb-nb"),
        ("ovn", "ovn-ovsdb-sb"),
    ],
)
def test_a_member_that_the_majority_needs_locks_its_node(release: str, component: str) -> None:
    world = NodeWorld()
    labels = {"release_group": release, "application": release, "component": component}
    world.kube.create(
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {
                "name": f"{release}-{component}",
                "namespace": NAMESPACE,
                "labels": {**labels, "app.kubernetes.io/managed-by": "Helm"},
                "annotations": {"meta.helm.sh/release-name": release},
            },
            "spec": {"replicas": 3, "template": {"metadata": {"labels": labels}}},
        }
    )
    for number in range(3):
        world.add_node(f"ctl{number}", compute=False)
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": f"{release}-{component}", "uid": "x"}
        made = world.kube.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{release}-{component}-{number}",
                    "namespace": NAMESPACE,
                    "ownerReferences": [{**owner, "controller": True}],
                },
                "spec": {"nodeName": f"ctl{number}"},
            }
        )
        ready = {"conditions": [{"type": "Ready", "status": "True" if number else "False"}]}
        world.kube.replace({**made, "status": ready}, subresource="status")
    world.reconcile(2)
    locked = {
        one["spec"]["nodeName"] for one in world.kube.objects("Pod") if "lock" in one["metadata"]["name"]
    }
    assert locked == {"ctl1", "ctl2"}
    assert f"majority of {release}-{component}" in world.status("ctl1")["drainLocked"]


def test_a_lock_whose_pod_does_not_run_is_not_said_to_hold() -> None:
    world = NodeWorld("cmp1")
    world.lock_phase, world.lock_reason = "Pending", "ImagePullBackOff"
    world.cloud.boot(2, "cmp1")
    world.reconcile(15)
    assert "drainLocked" not in world.status("cmp1")
    assert "drains should be blocked" in world.status("cmp1")["message"]
    assert "ImagePullBackOff" in world.status("cmp1")["message"]
    world.lock_phase = "Running"
    world.reconcile(2)
    assert world.status("cmp1")["drainLocked"] == "2 servers are on it"
    assert "drains should be blocked" not in world.status("cmp1").get("message", "")


def test_the_image_of_a_lock_is_pulled_with_the_secrets_that_are_named() -> None:
    world = NodeWorld("cmp1")
    locks = DrainLocks(world.kube, NAMESPACE, "image", ("registry", "mirror"))
    locks.ensure({"cmp1": "2 servers are on it"}, world.clock.now())
    [pod] = world.kube.objects("Pod")
    assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}, {"name": "mirror"}]


@pytest.mark.parametrize(
    ("phase", "secrets", "made_again"),
    [
        ("Pending", ("registry",), True),
        ("Running", ("registry",), False),
        # Those of the namespace's ServiceAccount, which admission gives to a pod that names none.
        ("Pending", (), False),
    ],
    ids=["waits for its image", "runs", "none are named"],
)
def test_a_lock_that_waits_for_its_image_is_made_again_with_secrets_that_it_lacks(
    phase: str, secrets: tuple[str, ...], made_again: bool
) -> None:
    """No one can give them to a pod that is there."""
    world = NodeWorld("cmp1")
    servers = {"cmp1": "2 servers are on it"}
    DrainLocks(world.kube, NAMESPACE, "image", ("former",)).ensure(servers, world.clock.now())
    [pod] = world.kube.objects("Pod")
    world.kube.replace({**pod, "status": {"phase": phase}}, subresource="status")
    world.clock.advance(60)
    for _ in range(2):
        DrainLocks(world.kube, NAMESPACE, "image", secrets).ensure(servers, world.clock.now())
    [after] = world.kube.objects("Pod")
    assert (after["metadata"]["uid"] != pod["metadata"]["uid"]) is made_again
    assert after["spec"]["imagePullSecrets"] == [{"name": "registry" if made_again else "former"}]


@pytest.mark.slow
def test_pods_that_fail_are_made_again_ever_more_seldom() -> None:
    world = NodeWorld("cmp1")
    world.lock_phase, world.lock_reason = "Failed", "OutOfpods"
    world.cloud.boot(2, "cmp1")
    made = set()
    for _ in range(60):
        world.reconcile(1, after=10)
        made |= {one["metadata"]["uid"] for one in world.kube.list(POD, NAMESPACE)}
    assert 3 <= len(made) <= 8
    assert "OutOfpods" in world.status("cmp1")["message"]
    world.lock_phase = "Running"
    world.reconcile(2)
    assert world.status("cmp1")["drainLocked"] == "2 servers are on it"


def test_a_lock_that_admission_refuses_delays_no_other() -> None:
    world = NodeWorld("cmp1", "cmp2")

    def refuse(request: Request) -> None:
        if request.verb == "create" and request.kind == "Pod":
            raise Forbidden('pods "osctl-drain-lock-cmp1" is forbidden: exceeded quota')

    world.kube.before_write = refuse
    world.cloud.boot(2, "cmp1")
    world.cordon("cmp2")
    world.reconcile(3)
    assert "exceeded quota" in world.status("cmp1")["message"]
    assert "drainLocked" not in world.status("cmp1")
    assert not world.cloud.services["cmp2"].enabled


def test_a_budget_that_others_changed_is_put_right(world: NodeWorld) -> None:
    [budget] = world.kube.list(PDB, NAMESPACE)
    world.kube.replace({**budget, "spec": {**budget["spec"], "minAvailable": 0}})
    world.reconcile(2)
    [budget] = world.kube.list(PDB, NAMESPACE)
    assert budget["spec"]["minAvailable"] == 1


@pytest.mark.parametrize("label", [None, "another"])
def test_a_pod_that_has_lost_its_label_is_said_to_hold_nothing_and_has_it_again(
    world: NodeWorld, label: str | None
) -> None:
    """A budget chooses pods by their labels."""
    [pod] = world.kube.list(POD, NAMESPACE)
    world.clock.advance(60)
    world.kube.merge_patch(
        POD, pod["metadata"]["name"], NAMESPACE, {"metadata": {"labels": {DRAIN_LOCK_LABEL: label}}}
    )
    world.reconcile(1)
    assert "drainLocked" not in world.status("cmp1")
    assert "drains should be blocked" in world.status("cmp1")["message"]
    assert "lost its label" in world.status("cmp1")["message"]
    world.reconcile(1)
    [mended] = world.kube.list(POD, NAMESPACE)
    assert mended["metadata"]["uid"] == pod["metadata"]["uid"]
    assert mended["metadata"]["labels"] == pod["metadata"]["labels"]
    assert world.status("cmp1")["drainLocked"] == "2 servers are on it"
    assert "message" not in world.status("cmp1") or "a drain" not in world.status("cmp1")["message"]


def test_a_label_is_put_back_while_openstack_does_not_answer(world: NodeWorld) -> None:
    world.cloud.before = fail()
    for resource in (POD, PDB):
        [one] = world.kube.list(resource, NAMESPACE)
        lost = {"metadata": {"labels": {DRAIN_LOCK_LABEL: None}}}
        world.kube.merge_patch(resource, one["metadata"]["name"], NAMESPACE, lost)
        world.reconcile(2, after=20)
        assert world.kube.list(resource, NAMESPACE, labels=DRAIN_LOCK_LABEL)
    assert (
        "the controller does not know whether servers are on the node" in world.status("cmp1")["drainLocked"]
    )


def test_a_budget_that_has_lost_its_labels_and_annotations_is_put_right(world: NodeWorld) -> None:
    [budget] = world.kube.list(PDB, NAMESPACE)
    bare = {key: value for key, value in budget["metadata"].items() if key not in ("labels", "annotations")}
    world.kube.replace({**budget, "metadata": bare})
    world.reconcile(2)
    [mended] = world.kube.list(PDB, NAMESPACE)
    for key in ("uid", "labels", "annotations"):
        assert mended["metadata"][key] == budget["metadata"][key]
    assert world.status("cmp1")["drainLocked"] == "2 servers are on it"


def test_a_pod_of_others_with_the_name_of_a_lock_is_reported_and_left_alone() -> None:
    world = NodeWorld("cmp1", "cmp2")
    meta = {"name": "osctl-drain-lock-cmp1", "namespace": NAMESPACE}
    theirs = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": "cmp2"}}
    theirs = world.kube.create(theirs)
    world.clock.advance(60)
    world.cloud.boot(2, "cmp1")
    world.reconcile(3)
    assert "another pod has the name of its lock" in world.status("cmp1")["message"]
    assert world.kube.get(POD, "osctl-drain-lock-cmp1", NAMESPACE) == theirs


def test_hypervisors_that_all_say_none_release_nothing(world: NodeWorld) -> None:
    world.cloud.hypervisors = lambda: tuple(  # type: ignore[method-assign]
        Hypervisor(host, 0) for host in world.cloud.services
    )
    world.reconcile(MISSING_OBSERVATIONS + 2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})
    assert "2 servers" in world.status("cmp1")["drainLocked"]


def test_what_placement_holds_for_a_server_there_releases_nothing(world: NodeWorld) -> None:
    hidden = dict(world.cloud.hosted)
    world.cloud.hosted.clear()
    whole = world.cloud.server
    world.cloud.server = lambda id_: hidden.get(id_) or whole(id_)  # type: ignore[method-assign]
    world.reconcile(MISSING_OBSERVATIONS + 2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})
    assert "Placement" in world.status("cmp1")["drainLocked"]


def test_a_look_that_is_not_answered_in_the_end_releases_nothing(world: NodeWorld) -> None:
    world.cloud.hosted.clear()

    def before(name: str, subject: str) -> None:
        if name == "servers_on":
            fail()(name, subject)

    world.cloud.before = before
    world.reconcile(MISSING_OBSERVATIONS + 2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})


def test_a_node_that_lost_its_role_stays_locked_while_servers_are_on_it(world: NodeWorld) -> None:
    world.edit_node("cmp1", {"metadata": {"labels": {ROLE: None}}})
    world.reconcile(MISSING_OBSERVATIONS + 2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})
    # A lock that someone takes away comes back, as that of any node with servers.
    for resource in (POD, PDB):
        [one] = world.kube.list(resource, NAMESPACE)
        world.kube.delete(resource, one["metadata"]["name"], NAMESPACE)
    world.reconcile(2)
    assert locked(world) == ({"cmp1"}, {"cmp1"})
    world.cloud.hosted.clear()
    world.cloud.held["cmp1"].clear()
    world.reconcile(MISSING_OBSERVATIONS + 2)
    assert locked(world) == (set(), set())


def test_a_machine_that_was_renamed_and_lost_its_role_stays_locked_while_servers_are_on_it(
    world: NodeWorld,
) -> None:
    """Its old Node is still there, and has the host for as long as the new one is no compute."""
    world.set_ready("cmp1", False)
    world.add_node("renamed1", **{"kubernetes.io/hostname": "cmp1"})
    world.reconcile(MISSING_OBSERVATIONS + 2)
    assert "renamed1" in locked(world)[0]
    world.edit_node("renamed1", {"metadata": {"labels": {ROLE: None}}})
    world.reconcile(2 * MISSING_OBSERVATIONS + 2)
    assert "renamed1" in locked(world)[0]
    world.cloud.hosted.clear()
    world.cloud.held["cmp1"].clear()
    world.reconcile(2 * MISSING_OBSERVATIONS + 2)
    assert "renamed1" not in locked(world)[0]


def test_nothing_is_kept_for_a_node_that_is_gone(world: NodeWorld) -> None:
    world.kube.delete(NODE, "cmp1")
    world.reconcile(MISSING_OBSERVATIONS + 2)
    assert locked(world)[1] == set()


def test_locks_go_with_the_region(world: NodeWorld) -> None:
    world.kube.delete(OSDPL, NAME, NAMESPACE)
    world.clock.advance(30)
    world.hosts.reconcile()
    assert locked(world) == (set(), set())


@pytest.mark.parametrize("resource", [PDB, POD])
def test_a_lock_that_another_process_has_made_again_since_is_not_released(
    world: NodeWorld, resource: Resource
) -> None:
    def make_again(node: str) -> str:
        """Right before the release, when all was listed."""
        [there] = world.kube.list(resource, NAMESPACE)
        world.kube.delete(resource, there["metadata"]["name"], NAMESPACE)
        meta = {key: there["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
        world.kube.create({**there, "metadata": meta})
        return ""

    DrainLocks(world.kube, NAMESPACE, "image").ensure({}, world.clock.now(), make_again)
    assert world.kube.list(resource, NAMESPACE)
