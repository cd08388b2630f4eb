"""Fields of objects that Kubernetes fixes: which a change touches, and what an operator can do."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.releases.immutable_fields import fixed_changes, way_out


def claim(size: str = "20Gi", class_: str | None = "fast") -> dict[str, Any]:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
    }
    return spec if class_ is None else {**spec, "storageClassName": class_}


def stateful(*, size: str = "20Gi", class_: str | None = "fast", **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"name": "mysql-data"}, "spec": claim(size, class_)}
    return {
        "kind": "StatefulSet",
        "metadata": {"name": "server"},
        "spec": {"serviceName": "db", "replicas": 1, "volumeClaimTemplates": [template], **spec},
    }


def test_what_a_rollout_changes_is_not_fixed():
    after = stateful(replicas=3, template={"spec": {}}, updateStrategy={"type": "OnDelete"})
    assert fixed_changes(stateful(), after) == ()


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (stateful(size="50Gi"), "claim mysql-data: size 20Gi → 50Gi"),
        (
            stateful(size="50Gi", class_="slow"),
            "claim mysql-data: size 20Gi → 50Gi, storage class fast → slow",
        ),
        (stateful(class_=None), "claim mysql-data: storage class fast → (none)"),
        (stateful(serviceName="other"), "serviceName db → other"),
        (stateful(podManagementPolicy="Parallel"), "podManagementPolicy OrderedReady → Parallel"),
        (stateful(volumeClaimTemplates=[]), "claim mysql-data: removed"),
        (stateful(selector={"matchLabels": {"a": "b"}}), "selector (none) → {'matchLabels': {'a': 'b'}}"),
    ],
)
def test_a_field_of_a_statefulset_that_is_fixed_is_reported(after: dict[str, Any], said: str):
    assert fixed_changes(stateful(), after) == (said,)


def test_what_the_api_server_fills_in_is_no_change():
    live = stateful(podManagementPolicy="OrderedReady", revisionHistoryLimit=10)
    live["spec"]["volumeClaimTemplates"][0]["spec"]["volumeMode"] = "Filesystem"
    assert fixed_changes(live, stateful()) == ()


def test_a_claim_may_ask_for_more_but_not_for_another_class():
    def obj(spec: dict[str, Any]) -> dict[str, Any]:
        return {"kind": "PersistentVolumeClaim", "metadata": {"name": "images"}, "spec": spec}

    assert fixed_changes(obj(claim("20Gi")), obj(claim("50Gi"))) == ()
    assert fixed_changes(obj(claim()), obj(claim(class_=None))) == ()
    assert fixed_changes(obj(claim()), obj(claim(class_="slow"))) == ("storage class fast → slow",)


def test_the_way_out_keeps_pods_and_volumes():
    text = way_out("StatefulSet", "server", "openstack")
    assert "kubectl -n openstack delete statefulset server --cascade=orphan" in text
