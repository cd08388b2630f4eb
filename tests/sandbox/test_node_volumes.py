"""Claims of a real node get a directory once their pod has a node, and it goes with the claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sandbox.node.volumes import (
    PROVISIONED_BY,
    PROVISIONER,
    SELECTED_NODE,
    plan_volumes,
    provision,
    volume_object,
)


def claim(name: str, node: str = "real1", **spec: Any) -> dict[str, Any]:
    annotations = {SELECTED_NODE: node} if node else {}
    return {
        "metadata": {
            "name": name,
            "namespace": "openstack",
            "uid": f"uid-{name}",
            "annotations": annotations,
        },
        "spec": {
            "storageClassName": "standard",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "5Gi"}},
            **spec,
        },
    }


def volume(
    name: str, phase: str, policy: str = "Delete", by: str = PROVISIONER, node: str = "real1"
) -> dict[str, Any]:
    affinity = volume_object(claim("any", node))["spec"]["nodeAffinity"]
    return {
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: by}},
        "spec": {"persistentVolumeReclaimPolicy": policy, "nodeAffinity": affinity},
        "status": {"phase": phase},
    }


class Api:
    """The two lists that are looked at, and what is done to them, in order."""

    def __init__(self, claims: list[dict[str, Any]], volumes: list[dict[str, Any]], place: Path) -> None:
        self.claims, self.volumes, self.place = claims, volumes, place
        self.done: list[tuple[str, str, bool]] = []

    def get(self, path: str) -> dict[str, Any]:
        return {"items": self.volumes if path.endswith("persistentvolumes") else self.claims}

    def apply(self, item: dict[str, Any]) -> None:
        name = item["metadata"]["name"]
        self.done.append(("apply", name, (self.place / name).is_dir()))

    def delete(self, path: str) -> None:
        self.done.append(("delete", path, (self.place / path.rpartition("/")[2]).exists()))


def test_a_claim_waits_until_its_pod_has_a_node() -> None:
    assert plan_volumes([claim("data", node="")], [], "real1").made == ()


def test_a_volume_is_on_the_node_of_the_pod_and_bound_to_that_claim() -> None:
    (made,) = plan_volumes([claim("data")], [], "real1").made
    spec = made["spec"]
    assert spec["local"]["path"] == "/var/lib/volumes/pvc-uid-data"
    assert spec["claimRef"]["uid"] == "uid-data"
    assert spec["capacity"] == {"storage": "5Gi"}
    (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["real1"]


def test_a_claim_with_a_volume_gets_no_second_one() -> None:
    bound = claim("data", volumeName="pvc-uid-data")
    assert plan_volumes([bound], [], "real1").made == ()
    made_a_moment_ago = volume("pvc-uid-data", "Available")
    assert plan_volumes([claim("data")], [made_a_moment_ago], "real1").made == ()


def test_a_node_leaves_claims_and_volumes_of_another_node_to_that_one() -> None:
    theirs = volume("released", "Released", node="real2")
    changes = plan_volumes([claim("data", node="real2")], [theirs], "real1")
    assert (changes.made, changes.removed) == ((), ())


def test_claims_of_other_classes_are_left_to_others() -> None:
    assert plan_volumes([claim("data", storageClassName="ceph")], [], "real1").made == ()


def test_only_released_volumes_of_our_own_are_removed() -> None:
    volumes = [
        volume("released", "Released"),
        volume("bound", "Bound"),
        volume("kept", "Released", policy="Retain"),
        volume("other", "Released", by="example.com/disk"),
    ]
    assert plan_volumes([], volumes, "real1").removed == ("released",)


def test_the_directory_is_there_before_its_volume_and_goes_before_it(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/file").write_text("x")
    api = Api([claim("data")], [volume("old", "Released")], tmp_path)
    provision(api, tmp_path, "real1")  # type: ignore[arg-type]
    assert api.done == [
        ("apply", "pvc-uid-data", True),
        ("delete", "/api/v1/persistentvolumes/old", False),
    ]
