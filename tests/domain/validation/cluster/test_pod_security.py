"""Pods that the Pod Security level of a namespace would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.validation.cluster.pod_security import pod_security_problems, violations

HARDENED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def namespace(level: str) -> dict[str, Any]:
    return {"metadata": {"name": "openstack", "labels": {"pod-security.kubernetes.io/enforce": level}}}


def daemonset(**pod: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "securityContext": HARDENED}], **pod}
    return {"kind": "DaemonSet", "metadata": {"name": "libvirt"}, "spec": {"template": {"spec": spec}}}


def test_the_level_the_pods_and_the_fields_are_named() -> None:
    objects = [daemonset(hostNetwork=True, volumes=[{"name": "run", "hostPath": {"path": "/run"}}])]
    [problem] = pod_security_problems(namespace("baseline"), objects)
    assert problem.message == (
        "the Pod Security level baseline refuses pods of 1 object (DaemonSet/libvirt): hostNetwork, hostPath"
    )
    assert problem.remedy == (
        "kubectl label namespace openstack pod-security.kubernetes.io/enforce=privileged --overwrite"
    )


@pytest.mark.parametrize("there", [None, namespace("privileged"), {"metadata": {"name": "openstack"}}])
def test_no_level_refuses_nothing(there: dict[str, Any] | None) -> None:
    assert pod_security_problems(there, [daemonset(hostNetwork=True)]) == []


@pytest.mark.parametrize(
    ("context", "field"),
    [
        ({"privileged": True}, "privileged"),
        ({"capabilities": {"add": ["SYS_ADMIN"]}}, "capabilities.add"),
        ({"procMount": "Unmasked"}, "procMount"),
        ({"seccompProfile": {"type": "Unconfined"}}, "seccompProfile Unconfined"),
    ],
)
def test_baseline_forbids(context: dict[str, Any], field: str) -> None:
    pod = {"containers": [{"name": "main", "securityContext": context}]}
    assert list(violations(pod, "baseline")) == [field]


def test_restricted_asks_for_more_and_takes_what_says_it() -> None:
    plain = {"containers": [{"name": "main"}], "volumes": [{"name": "x", "nfs": {}}]}
    assert set(violations(plain, "restricted")) == {
        *("allowPrivilegeEscalation", "runAsNonRoot", "seccompProfile", "capabilities.drop"),
        "volumes of other types",
    }
    assert (
        list(violations({"containers": [{"name": "main", "securityContext": HARDENED}]}, "restricted")) == []
    )
    assert list(violations(plain, "baseline")) == []
