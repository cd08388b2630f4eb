"""What may happen: by persons, to the API server and its store, to our own containers.

Each event draws what it needs from its own numbers, so that a sequence stays the same sequence when others
are taken out of it; and gives a sentence of what happened, or nothing where it cannot happen now.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.api.names import (
    BUNDLE_LABEL,
    CLOUDS_SECRET,
    DIGEST_KEY_SECRET,
    FORCE_RELEASE_PREFIX,
    HAND_OVER_ANNOTATION,
    MANAGED_BY,
    RELEASE_NAME,
    RELEASE_NAMESPACE,
    ROLLBACK_RELEASE_PREFIX,
    SKIP_HOOKS_RELEASE_PREFIX,
    SUSPEND_ANNOTATION,
    SUSPEND_RELEASE_PREFIX,
)
from controller.errors import ControllerError, KubeError
from controller.ports.helm import HelmRequest, RollbackRequest
from controller.ports.kubernetes import (
    CONFIGMAP,
    HELMBUNDLE,
    OSDPL,
    PVC,
    SECRET,
    KubeObject,
    resource_of,
)
from tests.fakes.objects import identity_of
from tests.fakes.stored_helm import StoredHelm
from tests.world.driver import Draw, Event
from tests.world.releases.process import KINDS
from tests.world.releases.region import (
    NAME,
    NAMES,
    NAMESPACE,
    SERVICE_OF,
    SERVICES,
    disabled,
    rendered,
    values_of,
)
from tests.world.releases.world import Trap, World

Happening = Callable[[World, Draw], str | None]
EVENTS: dict[str, Happening] = {}


def happens(function: Happening) -> Happening:
    EVENTS[function.__name__] = function
    return function


def happen(world: World, event: Event) -> bool:
    """Whether it could happen; it is reported then, and counted."""
    told = EVENTS[event.name](world, Draw(event))
    world.cluster.note_wishes()
    if told is None:
        return False
    world.met[event.name] += 1
    if told:
        world.tell(told)
    return True


def _bundles(world: World) -> list[str]:
    """All but those that persons have under names of ours."""
    found = world.cluster.all_of("HelmBundle")
    return [one["metadata"]["name"] for one in found if identity_of(one) not in world.cluster.foreign.objects]


# -- the spec, by persons


@happens
def person_edits_values(world: World, draw: Draw) -> str | None:
    """Of one release: another colour, a claim more or less, an object more or less."""
    osdpl = world.cluster.osdpl()
    if osdpl is None:
        return None
    release, patch = draw.one(
        (
            ("glance", {"claim": False}),
            ("glance", {"claim": True}),
            ("mariadb", {"dumps": True}),
            ("mariadb", {"dumps": False}),
            ("mariadb", {"takes": True}),
            ("mariadb", {"takes": False}),
            ("mariadb", {"replicas": 2}),
            ("keystone", {"more": True}),
            ("glance", {"more": True}),
            ("keystone", {"more": False}),
            ("glance", {"more": False}),
            ("keystone", {"colour": draw.number(100)}),
            ("mariadb", {"colour": draw.number(100)}),
            ("glance", {"colour": draw.number(100)}),
        )
    )
    values = {**values_of(osdpl, release), **patch}
    world.cluster.edit_region({"services": {SERVICE_OF[release]: {release: {"values": values}}}})
    return f"somebody edits the values of {release}: {patch}"


@happens
def person_says_what_becomes_of_volumes(world: World, draw: Draw) -> str | None:
    if world.cluster.osdpl() is None:
        return None
    word = draw.one(("Delete", "Retain"))
    world.cluster.edit_region({"volumes": word})
    return f"somebody sets volumes: {word}"


@happens
def person_removes_service(world: World, draw: Draw) -> str | None:
    """Or adds it again, with what needs it, or what it needs."""
    osdpl = world.cluster.osdpl()
    if osdpl is None:
        return None
    gone = draw.one(
        (("image",), ("image",), ("image", "identity"), ("image", "identity", "database"), (), (), ())
    )
    if set(gone) == set(disabled(osdpl)):
        gone = () if gone else ("image",)
    world.cluster.edit_region({"features": {"services": {"disabled": sorted(gone)}}})
    return f"somebody has the services without {', '.join(gone) or 'any exception'}"


@happens
def person_changes_mode(world: World, draw: Draw) -> str | None:
    if world.cluster.osdpl() is None:
        return None
    mode = draw.one(("Apply", "Apply", "Paused", "Plan"))
    world.cluster.edit_region({"mode": mode})
    return f"somebody sets mode: {mode}"


@happens
def person_deletes_region(world: World, draw: Draw) -> str | None:
    """And makes it again: once it is gone, or at once, without waiting for its finalizer."""
    osdpl = world.cluster.osdpl()
    if osdpl is None or osdpl["metadata"].get("deletionTimestamp"):
        return None
    spec, forced = dict(osdpl["spec"]), draw.number(2)
    if forced:
        world.cluster.kube.merge_patch(OSDPL, NAME, NAMESPACE, {"metadata": {"finalizers": None}})
    world.cluster.kube.delete(OSDPL, NAME, NAMESPACE)
    if forced and draw.number(2):
        world.make_osdpl(spec)
        return "the osdpl is lost, and comes back under another uid"
    world.osdpl_comes_back = spec
    return "the osdpl is lost" if forced else "somebody deletes the osdpl"


@happens
def person_suspends(world: World, draw: Draw) -> str | None:
    names = _bundles(world)
    if not names:
        return None
    name = draw.one(names)
    key = draw.one((SUSPEND_ANNOTATION, f"{SUSPEND_RELEASE_PREFIX}/{draw.one(list(SERVICE_OF))}"))
    value = draw.one(("true", None))
    _annotate(world, HELMBUNDLE, name, {key: value})
    return f"somebody {'suspends' if value else 'resumes'} {key} of the bundle {name}"


@happens
def person_asks_for_an_action(world: World, draw: Draw) -> str | None:
    """Of one release: an upgrade, a rollback, or to go without its hooks."""
    names = [name for name in _bundles(world) if name in SERVICES]
    if not names:
        return None
    name = draw.one(names)
    release = SERVICES[name][0]
    key, value = draw.one(
        (
            (f"{FORCE_RELEASE_PREFIX}/{release}", str(draw.number(50))),
            (f"{ROLLBACK_RELEASE_PREFIX}/{release}", str(1 + draw.number(4))),
            (f"{ROLLBACK_RELEASE_PREFIX}/{release}", None),
            (f"{SKIP_HOOKS_RELEASE_PREFIX}/{release}", draw.one(("true", None))),
        )
    )
    _annotate(world, HELMBUNDLE, name, {key: value})
    return f"somebody annotates the bundle {name}: {key}={value}"


def _annotate(world: World, resource: Any, name: str, notes: Mapping[str, str | None]) -> None:
    world.cluster.kube.merge_patch(resource, name, NAMESPACE, {"metadata": {"annotations": dict(notes)}})


# -- Secrets, claims and records, by persons


@happens
def person_deletes_secret(world: World, draw: Draw) -> str | None:
    name = draw.one(
        (
            "database-credentials",
            "identity-credentials",
            DIGEST_KEY_SECRET,
            BUNDLE_LABEL,
            CLOUDS_SECRET,
            "keystone-db",
            "keystone-keys",
            "mariadb-root",
        )
    )
    secret = world.cluster.raw("Secret", name)
    if secret is None:
        return None
    world.cluster.foreign.forget(secret)
    world.cluster.kube.delete(SECRET, name, NAMESPACE)
    return f"somebody deletes the Secret {name}"


@happens
def person_empties_secret(world: World, draw: Draw) -> str | None:
    """Deletes its keys."""
    name = draw.one(("database-credentials", "identity-credentials"))
    secret = world.cluster.raw("Secret", name)
    if secret is None or identity_of(secret) in world.cluster.foreign.objects:
        return None
    world.cluster.kube.merge_patch(SECRET, name, NAMESPACE, {"data": None})
    return f"somebody deletes all keys of the Secret {name}"


@happens
def person_deletes_claim(world: World, draw: Draw) -> str | None:
    claims = world.cluster.all_of("PersistentVolumeClaim")
    if not claims or draw.number(3):
        return None
    claim = draw.one(claims)
    world.cluster.deleted_by_person.add(claim["metadata"]["uid"])
    world.cluster.foreign.forget(claim)
    world.cluster.kube.delete(PVC, claim["metadata"]["name"], NAMESPACE)
    return f"somebody deletes the claim {claim['metadata']['name']}"


@happens
def person_deletes_record(world: World, draw: Draw) -> str | None:
    """The newest one of a release of ours."""
    release = draw.one(list(SERVICE_OF))
    records = records_of(world, release)
    if not records:
        return None
    world.cluster.foreign.forget(records[-1])
    if len(records) == 1:
        # No one knows any more what it has made: it is theirs to take away.
        give_up(world, release)
        world.cluster.forgotten.add(release)
    elif all(BUNDLE_LABEL not in one["metadata"]["labels"] for one in records[:-1]):
        # The records that are left are of a person's release: they do not say what ours has made.
        world.cluster.forgotten.add(release)
    name = records[-1]["metadata"]["name"]
    world.cluster.kube.delete(SECRET, name, NAMESPACE)
    return f"somebody deletes the Secret {name}"


def records_of(world: World, release: str) -> list[KubeObject]:
    found = [
        one
        for one in world.cluster.all_of("Secret")
        if one["metadata"]["name"].startswith(f"sh.helm.release.v1.{release}.v")
    ]
    return sorted(found, key=lambda one: int(one["metadata"]["labels"]["version"]))


def _ours_before(records: list[KubeObject]) -> int:
    """The oldest revision that a bundle has made: whoever goes back to one of theirs has the release back."""
    found = [one for one in records if BUNDLE_LABEL in one["metadata"]["labels"]]
    return int((found or records)[0]["metadata"]["labels"]["version"])


# -- objects of others


@happens
def person_makes_object(world: World, draw: Draw) -> str | None:
    """One that a render wants: of no one, of another release, of another program, or of a controller."""
    kind, name, release = draw.one(NAMES)
    if world.cluster.raw(kind, name) is not None:
        return None
    meta: dict[str, Any] = {"name": name, "namespace": NAMESPACE}
    how = draw.one(("nobody's", "another release's", "another program's", "a controller's"))
    if how == "another release's":
        meta["annotations"] = {RELEASE_NAME: "theirs", RELEASE_NAMESPACE: NAMESPACE}
        meta["labels"] = {MANAGED_BY: "Helm"}
    elif how == "another program's":
        meta["labels"] = {MANAGED_BY: "theirs"}
    if kind == "PersistentVolumeClaim":
        meta["labels"] = {**meta.get("labels", {}), "application": "theirs"}
    if how == "a controller's":
        owner = {"apiVersion": "v1", "kind": "Namespace", "name": NAMESPACE, "uid": _namespace(world)}
        meta["ownerReferences"] = [{**owner, "controller": True}]
    body: dict[str, Any] = {"apiVersion": "batch/v1" if kind == "Job" else "v1", "kind": kind}
    content = base64.b64encode(b"theirs").decode()
    more = {
        "ConfigMap": {"data": {"colour": "a person's"}},
        "Secret": {"data": {"theirs": content}, "type": "Opaque"},
        "PersistentVolumeClaim": {"spec": {"volumeName": "theirs"}},
        "Job": {"spec": {"template": {"spec": {"theirs": True}}}},
    }[kind]
    live = world.cluster.kube.create({**body, "metadata": meta, **more})
    world.cluster.check_claims()
    # One that is no one's under the name of our credentials is how persons restore them, as the docs say; in
    # the place of what a revision has it is drift, like one that a person has taken the marks of.
    is_ours = name.endswith("-credentials") or _is_recorded(world, release, live)
    if not (how == "nobody's" and is_ours):
        world.cluster.foreign.note(_now(world, live))
    return f"somebody makes the {kind} {name}, which is {how}"


def _namespace(world: World) -> str:
    found = world.cluster.raw("Namespace", NAMESPACE)
    assert found is not None
    return str(found["metadata"]["uid"])


def _is_recorded(world: World, release: str, obj: KubeObject) -> bool:
    """Whether the newest revision of the release has an object of that name, other than a volume."""
    records = records_of(world, release)
    if not records or obj["kind"] == PVC.kind:
        return False
    version = int(records[-1]["metadata"]["labels"]["version"])
    manifest = SecretRecords(world.cluster.kube).manifest(release, NAMESPACE, version).manifest
    named = {(one["kind"], one["metadata"]["name"]) for one in manifest}
    return (obj["kind"], obj["metadata"]["name"]) in named


def _now(world: World, obj: KubeObject) -> KubeObject:
    return world.cluster.kube._objects[identity_of(obj)].obj


@happens
def person_takes_object(world: World, draw: Draw) -> str | None:
    """Another release takes one of ours: by its marks it is theirs from then on. One that was handed over to
    ours is taken back so."""
    kind, name, release = draw.one([one for one in NAMES if one[0] != "PersistentVolumeClaim" and one[2]])
    live = world.cluster.raw(kind, name)
    if live is None or kind == "Job" or live["metadata"].get("deletionTimestamp"):
        return None
    if any((NAMESPACE, release) in one.slots.busy() for one in world.containers):
        # Whose objects are is asked before an action: they wait for its end.
        return None
    notes = {RELEASE_NAME: "theirs", RELEASE_NAMESPACE: NAMESPACE, HAND_OVER_ANNOTATION: None}
    patch = {"metadata": {"annotations": notes, "labels": {MANAGED_BY: "Helm"}}}
    world.cluster.kube.merge_patch(resource_of(live), name, NAMESPACE, patch)
    world.cluster.foreign.note(_now(world, live))
    return f"another release takes the {kind} {name}"


@happens
def person_hands_over(world: World, draw: Draw) -> str | None:
    """An object of theirs, or a record."""
    found = sorted(world.cluster.foreign.objects)
    if not found:
        return None
    identity = draw.one(found)
    live = world.cluster.kube._objects[identity].obj
    release = next((heir for kind, name, heir in NAMES if (kind, name) == (identity[1], identity[3])), "")
    if not release:
        release = str((live["metadata"].get("labels") or {}).get("name") or "")
    if release not in SERVICE_OF:
        return None
    hand_over(world, live, release)
    return ""


def give_up(world: World, release: str) -> None:
    """What carries the marks of the release, and its records, are not theirs alone any more."""
    foreign = world.cluster.foreign
    for one in list(foreign.objects):
        obj = world.cluster.kube._objects[one].obj
        notes = obj["metadata"].get("annotations") or {}
        if notes.get(RELEASE_NAME) == release or one[3].startswith(f"sh.helm.release.v1.{release}.v"):
            foreign.forget(obj)


def hand_over(world: World, live: KubeObject, release: str) -> None:
    """An object, or the record of a release with all that it has made."""
    name, foreign = live["metadata"]["name"], world.cluster.foreign
    foreign.forget(live)
    if name.startswith("sh.helm"):
        give_up(world, release)
    patch = {"metadata": {"annotations": {HAND_OVER_ANNOTATION: f"{NAMESPACE}/{release}"}}}
    world.cluster.kube.merge_patch(resource_of(live), name, NAMESPACE, patch)
    world.tell(f"somebody hands the {live['kind']} {name} over to {release}")


@happens
def person_removes_own_object(world: World, draw: Draw) -> str | None:
    found = sorted(world.cluster.foreign.objects)
    if not found:
        return None
    remove_own(world, draw.one(found))
    return ""


def remove_own(world: World, identity: tuple[str, str, str, str]) -> None:
    """A person takes away what is theirs."""
    live = world.cluster.kube._objects[identity].obj
    world.cluster.deleted_by_person.add(live["metadata"]["uid"])
    world.cluster.foreign.forget(live)
    if identity[3].startswith("sh.helm"):
        # What is left without a record is of whoever has a release of that name next.
        give_up(world, live["metadata"]["labels"]["name"])
        world.cluster.forgotten.add(live["metadata"]["labels"]["name"])
    world.cluster.kube.delete(resource_of(live), identity[3], NAMESPACE)
    world.tell(f"somebody removes their {identity[1]} {identity[3]}")


@happens
def person_edits_object(world: World, draw: Draw) -> str | None:
    """Of ours: its content, or Helm's marks of it."""
    name = draw.one(("keystone-etc", "mariadb-etc", "glance-etc", "shared"))
    live = world.cluster.raw("ConfigMap", name)
    if live is None or identity_of(live) in world.cluster.foreign.objects:
        return None
    marks = {"metadata": {"annotations": {RELEASE_NAME: None}, "labels": {MANAGED_BY: None}}}
    patch = draw.one(({"data": {"colour": "edited"}}, marks))
    world.cluster.kube.merge_patch(CONFIGMAP, name, NAMESPACE, patch)
    return f"somebody edits the ConfigMap {name}: {patch}"


@happens
def person_deletes_object(world: World, draw: Draw) -> str | None:
    kind, name, _ = draw.one([one for one in NAMES if one[0] in ("ConfigMap", "Job")])
    live = world.cluster.raw(kind, name)
    if live is None:
        return None
    world.cluster.foreign.forget(live)
    world.cluster.kube.delete(resource_of(live), name, NAMESPACE)
    return f"somebody deletes the {kind} {name}"


# -- releases of others


def own_helm(world: World) -> StoredHelm:
    """Of a person, who waits for no hook."""
    return StoredHelm(world.cluster.kube, world.cluster.clock, rendered, lambda *_: "Succeeded")


@happens
def person_installs_release(world: World, draw: Draw) -> str | None:
    """With their own Helm, of a name of ours or of another, with objects of names of ours."""
    release = draw.one(("glance", "keystone", "mine"))
    if records_of(world, release):
        return None
    names = draw.one((("theirs",), ("shared",), ("keystone-etc",)))
    before = set(world.cluster.kube._objects)
    try:
        own_helm(world).install(HelmRequest(release, NAMESPACE, "theirs", {"names": names}))
    except ControllerError:
        note_new(world, before)
        return f"somebody fails to install a release {release}"
    note_new(world, before)
    return f"somebody installs a release {release} with {names}"


def note_new(world: World, before: set[tuple[str, str, str, str]]) -> None:
    """What a person has made since is theirs."""
    for identity in set(world.cluster.kube._objects) - before:
        world.cluster.foreign.note(world.cluster.kube._objects[identity].obj)


@happens
def person_upgrades_release(world: World, draw: Draw) -> str | None:
    """One of ours, by hand: with another colour, or back to before."""
    release = draw.one(list(SERVICE_OF))
    records = records_of(world, release)
    if not records or identity_of(records[-1]) in world.cluster.foreign.objects:
        return None
    helm = own_helm(world)
    try:
        if draw.number(2):
            helm.rollback(RollbackRequest(release, NAMESPACE, _ours_before(records)))
        else:
            values = {"root": "x", "admin": "x", "colour": "by hand", "claim": True}
            if release == "glance":
                helm.upgrade(HelmRequest(release, NAMESPACE, release, {**values, "admin": _admin(world)}))
            else:
                return None
    except ControllerError as error:
        return f"somebody fails to change {release} by hand: {error}"
    finally:
        for identity in list(world.cluster.foreign.objects):
            stored = world.cluster.kube._objects.get(identity)
            live = stored.obj if stored is not None else None
            notes = (live["metadata"].get("annotations") or {}) if live is not None else {}
            # What carries the marks of our release again by their own hand is its again.
            world.cluster.foreign.settle(identity, live if notes.get(RELEASE_NAME) != release else None)
        claims = {one["metadata"]["uid"] for one in world.cluster.all_of("PersistentVolumeClaim")}
        world.cluster.deleted_by_person |= world.cluster.present() - claims
        ending = world.cluster.all_of("PersistentVolumeClaim")
        world.cluster.deleted_by_person |= {
            one["metadata"]["uid"] for one in ending if one["metadata"].get("deletionTimestamp")
        }
    return f"somebody changes {release} by hand"


def _admin(world: World) -> str:
    return world.known.get(("identity-credentials", "admin"), "x")


@happens
def person_leaves_release_pending(world: World, draw: Draw) -> str | None:
    """Their Helm was killed at a release of ours: its record says `pending-upgrade`."""
    release = draw.one(list(SERVICE_OF))
    records = records_of(world, release)
    if not records or identity_of(records[-1]) in world.cluster.foreign.objects:
        return None
    helm = StoredHelm(_Dying(world), world.cluster.clock, rendered, lambda *_: "Succeeded")  # type: ignore[arg-type]
    try:
        helm.rollback(RollbackRequest(release, NAMESPACE, _ours_before(records)))
    except _HelmDies:
        return f"somebody's Helm is killed at {release}"
    except ControllerError:
        return None
    return None


class _HelmDies(BaseException):
    """Someone's Helm ends here."""


class _Dying:
    """A cluster for a Helm that is killed once it has written its record."""

    def __init__(self, world: World) -> None:
        self._kube = world.cluster.kube

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kube, name)

    def apply(self, obj: Any, **more: Any) -> Any:
        raise _HelmDies

    def replace(self, obj: Any, **more: Any) -> Any:
        raise _HelmDies


@happens
def person_makes_bundle(world: World, draw: Draw) -> str | None:
    """A bundle of their own, with a release, or objects, of names that others have; edits or deletes it."""
    there = world.cluster.raw("HelmBundle", "mine")
    if there is not None and draw.number(3) == 0:
        world.cluster.kube.delete(HELMBUNDLE, "mine", NAMESPACE)
        return "somebody deletes the bundle mine"
    release = draw.one(("own", "own", "glance"))
    names = draw.one((("own",), ("shared",), ("keystone-etc",)))
    chart = {"name": "own", "path": "own"}
    spec = {
        "releases": [{"name": release, "chart": chart, "values": {"names": list(names)}, "timeout": "2m"}]
    }
    if there is not None:
        world.cluster.kube.merge_patch(HELMBUNDLE, "mine", NAMESPACE, {"spec": spec})
    else:
        meta = {"name": "mine", "namespace": NAMESPACE}
        body = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta}
        world.cluster.kube.create({**body, "spec": spec})
    return f"somebody has a bundle with the release {release} of {names}"


# -- the API server, and its store


@happens
def api_server_fails(world: World, draw: Draw) -> str | None:
    how = draw.one(("away", "slow"))
    world.faults["API"] = how
    world.met[f"API server {how}"] += 1
    return f"the API server is {how}"


@happens
def api_server_is_back(world: World, draw: Draw) -> str | None:
    if "API" not in world.faults:
        return None
    del world.faults["API"]
    return "the API server answers"


@happens
def somebody_writes_first(world: World, draw: Draw) -> str | None:
    world.faults["conflict"] = "next"
    return ""


@happens
def answer_is_lost(world: World, draw: Draw) -> str | None:
    world.traps.append(Trap("cut", draw.number(8)))
    return ""


@happens
def etcd_is_backed_up(world: World, draw: Draw) -> str | None:
    world.backups = [*world.backups[:1], world.cluster.back_up()]
    return "etcd is backed up"


@happens
def etcd_is_restored(world: World, draw: Draw) -> str | None:
    world.cluster.restore(draw.one(world.backups))
    world.osdpl_comes_back = None
    return "etcd is restored from a backup"


# -- hooks


@happens
def hook_is_slow(world: World, draw: Draw) -> str | None:
    """And something happens while it runs."""
    name = draw.one(("keystone-bootstrap", "keystone-check", "glance-clean", "glance-storage"))
    world.cluster.hook_seconds[name] = draw.one((20.0, 60.0, 100.0, 1000.0))
    world.meanwhile = list(draw.meanwhile)
    return f"the hook {name} takes {world.cluster.hook_seconds[name]:.0f} s"


@happens
def hook_fails(world: World, draw: Draw) -> str | None:
    name = draw.one(("keystone-bootstrap", "keystone-check", "glance-clean", "glance-storage"))
    world.cluster.hooks_fail ^= {name}
    return f"the hook {name} {'fails' if name in world.cluster.hooks_fail else 'succeeds again'}"


@happens
def hooks_are_mended(world: World, draw: Draw) -> str | None:
    if not (world.cluster.hooks_fail or world.cluster.hook_seconds):
        return None
    world.cluster.hooks_fail.clear()
    world.cluster.hook_seconds.clear()
    return "all hooks succeed"


# -- our own containers


def _moment(draw: Draw) -> tuple[bool, int]:
    """Whether only writes count, and how many calls still pass before it happens."""
    writes = bool(draw.number(3))
    return writes, draw.number(12) if writes else draw.number(40)


@happens
def container_dies(world: World, draw: Draw) -> str | None:
    kind = draw.one((*KINDS, "helmbundle"))
    world.traps.append(Trap(draw.one(("dies before", "dies after")), draw.number(12), kind))
    return ""


@happens
def container_stands_still(world: World, draw: Draw) -> str | None:
    """Before one of its next calls, while the world goes on; another may take over."""
    seconds = draw.one((6.0, 30.0, 90.0, 400.0))
    over = "stands still, and another takes over" if seconds > 15.0 and draw.number(3) else "stands still"
    kind = draw.one((*KINDS, "helmbundle"))
    writes, left = _moment(draw)
    world.traps.append(Trap(over, left, kind, seconds, list(draw.meanwhile), writes))
    return ""


@happens
def containers_meet(world: World, draw: Draw) -> str | None:
    """Everyone else works, and something may happen, in the middle of a pass or an action."""
    kind = draw.one((*KINDS, "helmbundle", "helmbundle"))
    writes, left = _moment(draw)
    world.traps.append(Trap("meets another", left, kind, meanwhile=list(draw.meanwhile), writes=writes))
    return ""


@happens
def another_pod_starts(world: World, draw: Draw) -> str | None:
    """Beside the one there is; or one of two is taken away."""
    pods = sorted({one.pod for one in world.containers})
    if len(pods) > 1:
        pod = draw.one(pods)
        world.containers = [one for one in world.containers if one.pod != pod or one.standing]
        return f"the pod {pod} goes"
    return f"the pod {world.start_pod()} starts"


@happens
def pod_is_cut_off(world: World, draw: Draw) -> str | None:
    """From the API server; another pod is started meanwhile."""
    away = [one for one in world.containers if one.cut_off]
    for one in away:
        one.cut_off = False
    if away:
        return f"the pod {away[0].pod} reaches the API server again"
    pod = draw.one(sorted({one.pod for one in world.containers}))
    for one in world.containers:
        one.cut_off = one.pod == pod
    if len({one.pod for one in world.containers}) == 1:
        world.start_pod()
    return f"the pod {pod} is cut off"


@happens
def watches_are_cut(world: World, draw: Draw) -> str | None:
    kind = draw.one(KINDS)
    found = world.of_kind(kind)
    blind = not found[0].blind
    for one in found:
        one.blind = blind
    return f"the watches of {kind} {'tell nothing' if blind else 'tell all again'}"


@happens
def time_passes(world: World, draw: Draw) -> str | None:
    world.live(draw.one((3.0, 10.0, 10.0, 35.0, 70.0, 130.0, 400.0)))
    return ""


__all__ = ["EVENTS", "KubeError", "happen", "own_helm", "remove_own"]
