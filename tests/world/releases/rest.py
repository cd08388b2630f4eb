"""Peace: everything is repaired, persons do what they are asked to do, and the region has to come to rest.

Reported means: by a condition or a message of a release. A message without a remedy is a defect.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.names import BUNDLE_LABEL, RELEASE_NAME
from controller.ports.helm import UninstallRequest
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, PVC, SECRET, KubeObject
from tests.fakes.objects import identity_of
from tests.world.releases.events import hand_over, own_helm, remove_own
from tests.world.releases.region import NAME, NAMESPACE, SERVICE_OF, SERVICES, disabled, values_of
from tests.world.releases.truth import ENDLESS
from tests.world.releases.world import SPEC, World
from tests.world.truth import Violated

# Looks, and seconds between two of them: for longer than another's Helm is left alone.
LOOKS, PAUSE = 100, 30.0
# For so many looks no one repairs anything: what can, has to heal by itself.
ALONE = 12


# The command that a message has for whoever is to hand something over.
_HAND_OVER = re.compile(r"annotate (\w+)/(\S+) osctl\.dev/hand-over-to=\w+/(\w+)")
# The record that Helm cannot read, and a message asks to have deleted.
_UNREADABLE = re.compile(r"delete the Secret (sh\.helm\.release\.v1\.\w+\.v[0-9]+)")
# The bundle that is being deleted below one that stays, and which a message says how to keep.
_KEEP = re.compile(r"patch hb (\S+) --type merge -p '{\"metadata\":{\"finalizers\":null}}'")
_KINDS = {
    kind.lower(): kind for kind in ("ConfigMap", "Secret", "PersistentVolumeClaim", "Job", "StatefulSet")
}


def make_peace(world: World) -> None:
    cluster, kube = world.cluster, world.cluster.kube
    world.faults.clear()
    world.traps.clear()
    world.meanwhile.clear()
    cluster.hooks_fail.clear()
    cluster.hook_seconds.clear()
    pod = max(one.pod for one in world.containers)
    world.containers = [one for one in world.containers if one.pod == pod]
    for one in world.containers:
        one.cut_off = one.blind = False
    world.pass_time(5.0)
    for pod in list(world.clocks):
        world.set_clock(pod, 0.0)
    if cluster.osdpl() is None and world.osdpl_comes_back is None:
        world.make_osdpl(world.lost_spec or SPEC)
    for bundle in cluster.all_of("HelmBundle"):
        if identity_of(bundle) in cluster.foreign.objects:
            continue
        notes = bundle["metadata"].get("annotations") or {}
        patch = {"metadata": {"annotations": dict.fromkeys(notes)}}
        kube.merge_patch(HELMBUNDLE, bundle["metadata"]["name"], NAMESPACE, patch)
    if cluster.osdpl() is not None:
        cluster.edit_region({"mode": "Apply"})
    world.tell("everything is mended, and persons have taken back what held anything up")


def come_to_rest(world: World) -> None:
    """Raises Violated where the region does not come to rest."""
    make_peace(world)
    why = ["nothing was looked at"]
    for number in range(LOOKS):
        world.live(PAUSE)
        if number >= ALONE and world.cluster.osdpl() is None:
            # One that was being deleted in the store that came back.
            world.make_osdpl(SPEC)
        if cluster_mode(world) not in ("Apply", None):
            world.cluster.edit_region({"mode": "Apply"})
        why = unrest(world)
        if not why:
            return
        if number >= ALONE and number % 4 == 0:
            _mend(world, removes=number % 8 != 0)
    raise Violated(ENDLESS, "; ".join(why))


def cluster_mode(world: World) -> str | None:
    osdpl = world.cluster.osdpl()
    return None if osdpl is None else (osdpl["spec"].get("mode") or "Apply")


# -- what persons do


def said(world: World) -> str:
    """All that the controller says of what is not as it should be."""
    texts = []
    for one in [*world.cluster.all_of("HelmBundle"), *world.cluster.all_of("OpenStackDeployment")]:
        status = one.get("status") or {}
        entries = [*(status.get("conditions") or ()), *(status.get("releases") or ())]
        texts += [str(entry.get("message") or "") for entry in entries]
        texts += [str((entry.get("lastAttempt") or {}).get("error") or "") for entry in entries]
    return "\n".join(texts)


def _mend(world: World, *, removes: bool) -> None:
    """What the messages ask for."""
    cluster, text = world.cluster, said(world)
    if removes:
        _remove_what_is_in_the_way(world, text)
    for kind, name, heir in set(_HAND_OVER.findall(text)):
        live = next(
            (one for one in cluster.all_of(_KINDS.get(kind, "")) if one["metadata"]["name"] == name), None
        )
        owner = ((live or {}).get("metadata") or {}).get("annotations", {}).get(RELEASE_NAME)
        if live is not None and heir == "own" and owner in SERVICE_OF:
            # Two releases want it: whoever gives it to each in turn has no rest. The region keeps it.
            _delete_bundle(world)
        elif live is not None and _both_want(world, name, owner, heir):
            # As above, and both are the region's.
            values = {**values_of(world.cluster.osdpl() or {}, heir), "more": False}
            world.cluster.edit_region({"services": {SERVICE_OF[heir]: {heir: {"values": values}}}})
            world.tell(f"somebody leaves {name} to {owner}")
        elif live is not None:
            hand_over(world, live, heir)
    for name in sorted(set(_KEEP.findall(text))):
        cluster.kube.merge_patch(HELMBUNDLE, name, NAMESPACE, {"metadata": {"finalizers": None}})
        world.tell(f"somebody keeps what the bundle {name} has, as they are asked to")
    _restore_credentials(world, text)
    _remove_lost_claims(world)


def _both_want(world: World, name: str, *releases: str) -> bool:
    """Whether each of two releases of the region is to have an object that a person asked for."""
    osdpl = world.cluster.osdpl()
    return osdpl is not None and all(
        name == "shared"
        and one in SERVICE_OF
        and SERVICE_OF[one] not in disabled(osdpl)
        and values_of(osdpl, one).get("more")
        for one in releases
    )


def _remove_what_is_in_the_way(world: World, text: str) -> None:
    cluster = world.cluster
    for identity in sorted(cluster.foreign.objects):
        kind, name = identity[1], identity[3]
        if identity not in cluster.foreign.objects or name.startswith("sh.helm"):
            continue
        if f"{kind}/{name}" in text or f'{kind} "{name}"' in text or f"{kind} {name}:" in text:
            remove_own(world, identity)
    for release in (*SERVICE_OF, "own"):
        # What is only named is not in the way.
        if f"annotate secret/sh.helm.release.v1.{release}.v" in text:
            _uninstall(world, release)
    for name in sorted(set(_UNREADABLE.findall(text))):
        if cluster.raw("Secret", name) is not None:
            world.cluster.kube.delete(SECRET, name, NAMESPACE)
            world.tell(f"somebody deletes the Secret {name}, as they are asked to")
    if "belongs to HelmBundle" in text or 'release "own"' in text:
        _delete_bundle(world)


def _delete_bundle(world: World) -> None:
    if world.cluster.raw("HelmBundle", "mine") is not None:
        world.cluster.kube.delete(HELMBUNDLE, "mine", NAMESPACE)
        world.tell("somebody deletes the bundle mine")


def _uninstall(world: World, release: str) -> None:
    """Someone takes their release of that name away."""
    before = set(world.cluster.kube._objects)
    own_helm(world).uninstall(UninstallRequest(release, NAMESPACE, hooks=False))
    for identity in before - set(world.cluster.kube._objects):
        world.cluster.foreign.objects.pop(identity, None)
    world.tell(f"somebody uninstalls their release {release}")


def _restore_credentials(world: World, text: str) -> None:
    """From a backup, where the message names the Secret."""
    for (name, key), value in sorted(world.known.items()):
        if f'Secret "{name}"' not in text:
            continue
        secret = world.cluster.raw("Secret", name)
        data = {key: base64.b64encode(value.encode()).decode()}
        if secret is None:
            meta = {"name": name, "namespace": NAMESPACE}
            body: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque"}
            world.cluster.kube.create({**body, "data": data})
        elif not (secret.get("data") or {}).get(key):
            world.cluster.kube.merge_patch(SECRET, name, NAMESPACE, {"data": data})
        else:
            continue
        world.tell(f"somebody restores {key} of the Secret {name}")


def _remove_lost_claims(world: World) -> None:
    """Claims that a restored store has, and whose volumes are gone; and those that they have deleted end
    once their pods are made again."""
    for claim in world.cluster.all_of("PersistentVolumeClaim"):
        uid, name = claim["metadata"]["uid"], claim["metadata"]["name"]
        deleting = claim["metadata"].get("deletionTimestamp")
        release = (claim["metadata"].get("annotations") or {}).get(RELEASE_NAME)
        forgotten = release in world.cluster.forgotten | world.cluster.orphaned
        if deleting and release in SERVICE_OF and (forgotten or not _records(world, release)):
            # Whoever has deleted Helm's record of a release removes the rest of it, as docs/safety.md says.
            # Where it is installed again meanwhile, its health tells of the claim.
            world.cluster.kube.merge_patch(PVC, name, NAMESPACE, {"metadata": {"finalizers": None}})
            continue
        if deleting and uid in world.cluster.deleted_by_person:
            world.cluster.kube.merge_patch(PVC, name, NAMESPACE, {"metadata": {"finalizers": None}})
            continue
        volume = world.cluster.volumes.get(uid)
        if volume is not None and volume.gone:
            world.cluster.deleted_by_person.add(claim["metadata"]["uid"])
            world.cluster.kube.delete(PVC, claim["metadata"]["name"], NAMESPACE)


# -- what is not at rest


def unrest(world: World) -> list[str]:
    """What is not as the spec asks for, or still in someone's hands."""
    cluster = world.cluster
    osdpl = cluster.osdpl()
    if osdpl is None:
        return ["the osdpl is missing"]
    why = [
        f"{one['kind']} {one['metadata']['name']} is being deleted"
        for one in (osdpl, *cluster.all_of("HelmBundle"), *cluster.all_of("PersistentVolumeClaim"))
        if one["metadata"].get("deletionTimestamp")
    ]
    off = disabled(osdpl)
    conditions = (osdpl.get("status") or {}).get("conditions") or ()
    for type_ in ("SpecValid", "ReleasesReady", "SecretsExchanged"):
        entry = find(conditions, type_)
        if entry.get("status") != "True" and not (type_ == "ReleasesReady" and len(off) == len(SERVICES)):
            why.append(f"{type_}: {entry.get('reason')}: {entry.get('message')}")
    for service, releases in SERVICES.items():
        for release in releases:
            why += (
                _of_release(world, osdpl, service, release)
                if service not in off
                else _left_of(world, release)
            )
        left = cluster.raw("HelmBundle", service)
        if service in off and left is not None and identity_of(left) not in cluster.foreign.objects:
            why.append(f"the bundle {service} is still there")
    return why


def _records(world: World, release: str) -> list[KubeObject]:
    found = world.cluster.all_of("Secret")
    ours = [one for one in found if (one["metadata"].get("labels") or {}).get("name") == release]
    return sorted(ours, key=lambda one: int(one["metadata"]["labels"]["version"]))


def _of_release(world: World, osdpl: KubeObject, service: str, release: str) -> list[str]:
    bundle, records = world.cluster.raw("HelmBundle", service), _records(world, release)
    if bundle is None or not records:
        return [f"{release} is not installed"]
    entries = (bundle.get("status") or {}).get("releases") or ()
    entry: dict[str, Any] = next((one for one in entries if one["name"] == release), {})
    status = records[-1]["metadata"]["labels"]["status"]
    why = []
    if (entry.get("state"), entry.get("reason")) != ("Deployed", "InSync") or status != "deployed":
        told = f"{entry.get('state')}, {entry.get('reason')}: {entry.get('message')}"
        why.append(f"{release} is {status}; {told}; {(entry.get('lastAttempt') or {}).get('error')}")
    colour = str(values_of(osdpl, release).get("colour", "red"))
    etc = world.cluster.raw("ConfigMap", f"{release}-etc")
    if etc is None or (
        etc["data"].get("colour") != colour and identity_of(etc) not in world.cluster.foreign.objects
    ):
        why.append(f"{release}-etc is not {colour}: {etc and etc['data']}")
    return why


def _left_of(world: World, release: str) -> list[str]:
    mine = world.cluster.raw("HelmBundle", "mine")
    if mine is not None and mine["spec"]["releases"][0]["name"] == release:
        return []
    if release in world.cluster.orphaned:
        return []
    records = [one for one in _records(world, release) if BUNDLE_LABEL in one["metadata"]["labels"]]
    why = [f"{one['metadata']['name']} is left" for one in records]
    etc = world.cluster.raw("ConfigMap", f"{release}-etc")
    if release in world.cluster.forgotten or (
        etc is not None and identity_of(etc) in world.cluster.foreign.objects
    ):
        return why
    if etc is not None and (etc["metadata"].get("annotations") or {}).get(RELEASE_NAME) == release:
        why.append(f"{release}-etc is left")
    return why


__all__ = ["NAME", "OSDPL", "come_to_rest", "unrest"]
