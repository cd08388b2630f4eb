"""A region in which much goes on at once, as its objects are in a cluster."""

from __future__ import annotations

from typing import Any

from tests.cli.objects import bundle, condition, region, release

NOW = 1_772_357_400.0  # 2026-03-01T09:30:00Z
RELEASES = {
    "database": {"mariadb": []},
    "messaging": {"rabbitmq": []},
    "caching": {"memcached": []},
    "identity": {"keystone": ["mariadb", "rabbitmq", "memcached"]},
    "placement": {"placement": ["keystone"]},
    "image": {"glance": ["keystone"]},
    "networking": {"openvswitch": [], "neutron": ["keystone", "openvswitch"]},
    "compute": {"libvirt": [], "nova": ["keystone", "placement", "neutron", "libvirt"]},
    "block-storage": {"cinder": ["keystone"]},
    "orchestration": {"heat": ["keystone"]},
    "dashboard": {"horizon": ["keystone"]},
    "load-balancer": {"octavia": ["keystone", "neutron", "nova"]},
}
_SICK = {"heat": "Failed", "octavia": "Waiting"}


def attempt(minute: int, **more: Any) -> dict[str, Any]:
    time = {"time": f"2026-03-01T08:{minute:02}:00Z", "finished": f"2026-03-01T08:{minute:02}:40Z"}
    return {**time, "duration": "40.2s", "action": "Upgrade", **more}


def bundles() -> list[dict[str, Any]]:
    found = []
    for number, (service, releases) in enumerate(RELEASES.items()):
        entries = []
        for name in releases:
            error = {"error": "hook Job heat-db-sync failed", "failures": 3} if name == "heat" else {}
            state = _SICK.get(name, "Deployed")
            attempted = {} if name == "octavia" else {"lastAttempt": attempt(number, **error)}
            entries.append(release(name, state, revision=2, **attempted))
        found.append(bundle(service, *entries, needs=releases))
    return found


def component(status: str, ready: int, desired: int, **more: Any) -> dict[str, Any]:
    since = {"since": "2026-03-01T09:26:00Z"}
    return {"status": status, "ready": ready, "desired": desired, **since, **more}


def busy_region(**more: Any) -> dict[str, Any]:
    """Not Ready, with each part of a page filled."""
    health = {
        name: {f"{name}-api": component("Ready", 3, 3)}
        for releases in RELEASES.values()
        for name in releases
        if name not in ("octavia", "heat")
    }
    crash = "pod nova-scheduler-6c5 CrashLoopBackOff for 4 m: ERROR: Could not load 'FooFilter'"
    health["nova"]["nova-scheduler"] = component("Unhealthy", 0, 2, message=crash)
    health["neutron"]["neutron-server"] = component("Progressing", 2, 3, message="pod 3 of 3 starts")
    secrets = {
        "horizon-public": {
            "state": "Ready",
            "expires": "2026-03-02T08:00:00Z",
            "rotated": "2025-12-02T08:00:00Z",
        },
        "keystone-public": {
            "state": "Ready",
            "expires": "2026-05-02T08:00:00Z",
            "rotated": "2026-02-02T08:00:00Z",
        },
        "identity-credentials": {
            "state": "Ready",
            "keys": ["admin-password"],
            "rotated": "2025-11-02T08:00:00Z",
            "nextRotation": "2026-03-03T08:00:00Z",
        },
        "compute-credentials": {
            "state": "Ready",
            "keys": ["database-password"],
            "rotated": "2026-02-20T08:00:00Z",
            "rotation": {"phase": "Rolling", "message": "release nova does not use it yet"},
        },
    }
    nodes: dict[str, Any] = {
        f"cmp{n}": {
            "state": "Ready",
            "roles": ["openstack-compute-node"],
            "compute": "enabled, up",
            "servers": 12 + n,
            "since": "2026-02-01T08:00:00Z",
        }
        for n in range(1, 7)
    }
    nodes["cmp7"] = {**nodes["cmp1"], "state": "Cordoned", "maintenance": "node-cmp7", "servers": 18}
    nodes["cmp8"] = {
        **nodes["cmp1"],
        "state": "NotReady",
        "compute": "enabled, down",
        "reason": "KubeletStopped",
        "message": "the kubelet has not reported for 6 m",
    }
    upgrade = {
        "from": "2025.2",
        "to": "2026.1",
        "phase": "ControlPlane",
        "started": "2026-03-01T07:00:00Z",
        "message": "waits for the health of identity",
        "steps": [
            {
                "name": "identity",
                "service": "identity",
                "phase": "ControlPlane",
                "state": "Done",
                "started": "2026-03-01T07:10:00Z",
                "ended": "2026-03-01T07:14:00Z",
            },
            {
                "name": "image",
                "service": "image",
                "phase": "ControlPlane",
                "state": "Running",
                "started": "2026-03-01T09:20:00Z",
                "message": "hook glance-db-sync runs",
            },
            {"name": "compute", "service": "compute", "phase": "ControlPlane", "state": "Pending"},
        ],
        "checks": [{"name": "quorum", "service": "database", "state": "Passed"}],
    }
    backup = {
        "lastGood": {"id": "b-41", "ended": "2026-02-28T02:10:00Z", "databases": 11, "tables": 400},
        "last": {"job": "b", "ended": "2026-03-01T02:10:00Z", "result": "Failed", "message": "no space left"},
        "size": 81_000_000,
        "due": "2026-03-01T02:30:00Z",
        "drill": {"id": "b-40", "ended": "2026-02-27T03:00:00Z", "result": "Succeeded"},
        "restorable": True,
    }
    found = region(
        condition("Ready", "False", "WorkloadsFailing", "nova-scheduler 0/2: CrashLoopBackOff"),
        condition("SpecValid", "True", "SpecAccepted"),
        condition("ReleasesReady", "False", "ReleasesFailing", "heat: hook Job heat-db-sync failed"),
        condition("NodesReady", "False", "NodesNotReady", "cmp8: KubeletStopped"),
        condition("Paused", "False", "NotPaused"),
        state="Upgrading",
        progress="12/14",
        version="0.1.0",
        openstackVersion="2025.2",
        services={name: {"state": "Applied", "openstackVersion": "2025.2"} for name in RELEASES},
        health=health,
        secrets=secrets,
        nodes=nodes,
        hostsWithoutNode=["old-host"],
        upgrade=upgrade,
        backup=backup,
        **more,
    )
    found["metadata"]["creationTimestamp"] = "2026-01-01T09:00:00Z"
    values = {"conf": {"nova": {"filter_scheduler": {"enabled_filters": ["FooFilter"]}}}}
    found["spec"]["services"] = {"compute": {"nova": {"values": values}}}
    return found


def maintenance() -> dict[str, Any]:
    return {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "ComputeMaintenance",
        "metadata": {"name": "node-cmp7", "generation": 1},
        "spec": {
            "region": {"namespace": "openstack", "name": "region-one"},
            "nodeName": "cmp7",
            "mode": "Migrate",
        },
        "status": {
            "phase": "Moving",
            "progress": "12/30",
            "startedAt": "2026-03-01T09:00:00Z",
            "servers": [
                {"id": "1", "name": "vm-23", "state": "Blocked", "action": "Blocked", "message": "vGPU"}
            ],
            "conditions": [condition("Ready", "False", "Moving", "18 servers are left")],
        },
    }
