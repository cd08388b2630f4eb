"""What may be lost, and come back: records, OpenStackDeployments, bundles and Secrets, in any order; persons'
bundles of our names; and clocks that are wrong for a while."""

from __future__ import annotations

import base64
from typing import Any

from controller.domain.api.names import BUNDLE_LABEL
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, SECRET
from tests.fakes.objects import identity_of
from tests.world.driver import Draw, Event
from tests.world.releases.events import happens, records_of
from tests.world.releases.region import NAME, NAMESPACE, SERVICE_OF, SERVICES
from tests.world.releases.world import World

HOUR, DAY = 3600.0, 86400.0
HOOKS = ("keystone-bootstrap", "keystone-check", "glance-clean", "glance-storage")


@happens
def records_go_in_a_hook(world: World, draw: Draw) -> str | None:
    """While Helm waits for a hook, someone deletes records of that release, or of another one."""
    hook, release = draw.one(HOOKS), draw.one(("glance", "keystone", "glance", "mariadb"))
    world.cluster.hook_seconds[hook] = draw.one((20.0, 60.0))
    number = list(SERVICE_OF).index(release)
    world.meanwhile = [Event("person_deletes_record", (number,))] * (1 + draw.number(2))
    return f"the hook {hook} takes its time, and records of {release} go meanwhile"


@happens
def all_records_are_lost(world: World, draw: Draw) -> str | None:
    """Of a release that a bundle has made: nothing tells any more what it has made."""
    release = draw.one(list(SERVICE_OF))
    records = records_of(world, release)
    if not records or any(BUNDLE_LABEL not in one["metadata"]["labels"] for one in records):
        return None
    world.cluster.forgotten.add(release)
    for one in records:
        world.cluster.foreign.forget(one)
        world.cluster.kube.delete(SECRET, one["metadata"]["name"], NAMESPACE)
    return f"all records of {release} are lost"


@happens
def osdpl_is_lost(world: World, draw: Draw) -> str | None:
    """Without its finalizer, and until someone restores it."""
    osdpl = world.cluster.osdpl()
    if osdpl is None:
        return None
    world.lost_spec = dict(osdpl["spec"])
    world.osdpl_comes_back = None
    world.cluster.kube.merge_patch(OSDPL, NAME, NAMESPACE, {"metadata": {"finalizers": None}})
    world.cluster.kube.delete(OSDPL, NAME, NAMESPACE)
    return "the osdpl is lost until somebody restores it"


@happens
def osdpl_is_restored(world: World, draw: Draw) -> str | None:
    """Under another uid, without its status."""
    if world.cluster.osdpl() is not None or world.lost_spec is None:
        return None
    spec, world.lost_spec = world.lost_spec, None
    world.make_osdpl(spec)
    return "somebody restores the osdpl"


@happens
def bundle_is_lost(world: World, draw: Draw) -> str | None:
    """One of ours, without its finalizer: with all that its status has reported."""
    name = draw.one(list(SERVICES))
    bundle = world.cluster.raw("HelmBundle", name)
    if bundle is None or identity_of(bundle) in world.cluster.foreign.objects:
        return None
    world.cluster.kube.merge_patch(HELMBUNDLE, name, NAMESPACE, {"metadata": {"finalizers": None}})
    world.cluster.kube.delete(HELMBUNDLE, name, NAMESPACE)
    world.cluster.orphaned |= set(SERVICES[name])
    return f"the bundle {name} is lost"


@happens
def person_restores_secret(world: World, draw: Draw) -> str | None:
    """From a backup: one that is gone, or keys of it that are."""
    names = sorted({name for name, _ in world.known})
    if not names:
        return None
    name = draw.one(names)
    texts = {key: text for (one, key), text in world.known.items() if one == name}
    there = world.cluster.raw("Secret", name)
    if there is not None and identity_of(there) in world.cluster.foreign.objects:
        return None
    held = (there or {}).get("data") or {}
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items() if not held.get(key)}
    if not data:
        return None
    if there is None:
        body: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data}
        world.cluster.kube.create({**body, "metadata": {"name": name, "namespace": NAMESPACE}})
    else:
        world.cluster.kube.merge_patch(SECRET, name, NAMESPACE, {"data": data})
    return f"somebody restores {', '.join(data)} of the Secret {name}"


@happens
def person_makes_bundle_of_our_name(world: World, draw: Draw) -> str | None:
    """Of a service that the region has, or had, or will have; or takes it away again."""
    name = draw.one(("image", "image", "identity", "database"))
    there = world.cluster.raw("HelmBundle", name)
    if there is not None:
        if identity_of(there) not in world.cluster.foreign.objects or draw.number(3):
            return None
        world.cluster.foreign.forget(there)
        world.cluster.kube.delete(HELMBUNDLE, name, NAMESPACE)
        return f"somebody deletes their bundle {name}"
    if any(records_of(world, release) for release in SERVICES[name]):
        # By the bundle's name they are that bundle's: who takes it takes them along, as docs/safety.md says.
        return None
    values = {"names": [f"of-their-{name}"]}
    release = {"name": f"their-{name}", "chart": {"name": "own", "path": "own"}, "values": values}
    spec = {"mode": draw.one(("Apply", "Paused")), "volumes": "Retain", "releases": [release]}
    meta = {"name": name, "namespace": NAMESPACE}
    body = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta, "spec": spec}
    made = world.cluster.kube.create(body)
    world.cluster.foreign.note(made)
    return f"somebody makes a bundle {name} of their own"


@happens
def clock_jumps(world: World, draw: Draw) -> str | None:
    """That of one pod's node, by hours or by years; or it is put right."""
    pod = draw.one(sorted({one.pod for one in world.containers}))
    by = draw.one((0.0, 2 * HOUR, -2 * HOUR, 40 * DAY, 800 * DAY, 4000 * DAY, -800 * DAY))
    if world.clocks.get(pod, 0.0) == by:
        return None
    world.set_clock(pod, by)
    return (
        f"the clock of the pod {pod} is {by / HOUR:+.0f} h off" if by else f"the clock of {pod} is put right"
    )
