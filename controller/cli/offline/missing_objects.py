"""References of a region's releases that neither the releases nor the files contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from controller.adapters.system.clock import SystemClock
from controller.cli.offline.input_files import InputObject
from controller.cli.offline.own_secrets import faults_of, missing_secrets
from controller.cli.offline.region import OfflineRegion
from controller.domain.credentials.ceph.region_objects import CONF_FILE, KEY, KEYRING
from controller.domain.credentials.own_passwords import AN_ENDING
from controller.domain.region.required_certificates import secrets_made
from controller.domain.validation.dangling import (
    CONFIGMAP,
    IMAGE,
    SECRET,
    VOLUME,
    Made,
    Reference,
    dangling,
    made_by,
)
from controller.domain.validation.known_references import KnownReferences
from controller.domain.validation.operator_secrets import operator_secrets
from controller.domain.values.ceph_needs import CEPH_CONF, CONSUMERS_SECRET, OFFER_SECRET, ROOK, CephNeeds
from controller.domain.values.images import log_in_command
from controller.domain.values.secret_refs import find_references
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.errors import Problem
from controller.ports.kubernetes import KubeObject

# What publishes endpoints outside of the cluster, by what different gateways read.
_PUBLISHING = frozenset(("Ingress", "Gateway", "HTTPRoute", "TLSRoute", "IngressRoute", "VirtualService"))
# An object of the cluster by kind, name and namespace.
LiveObject = Callable[[str, str, str], KubeObject | None]


def missing_objects(
    region: OfflineRegion,
    made: Mapping[str, Sequence[KubeObject]],
    given: Sequence[InputObject],
    known: KnownReferences,
    live: LiveObject | None = None,
) -> tuple[list[Problem], list[Problem]]:
    """Mistakes in the charts or their values, and objects to create before pods can start.

    `made` are the objects of the releases by name; `given` are those of the files; `live` finds what the
    cluster has, None without a cluster.
    """
    there = made_by([*(obj for objects in made.values() for obj in objects), *named(given)])
    for secret in region.region.credentials:
        there.add(SECRET, secret.name, secret.credentials)
    for name, keys in secrets_made(region.region.certificates).items():
        there.add(SECRET, name, keys)
    ceph = region.region.ceph
    if ceph is not None:
        there.add(CONFIGMAP, CEPH_CONF, (CONF_FILE,))
        there.add(SECRET, CONSUMERS_SECRET, ceph.consumers)
        for name in ceph.key_secrets:
            there.add(SECRET, name, (KEY, KEYRING))
    found = _missing(region, made, there)
    unfit: list[Problem] = []
    if live is not None:
        unfit = _learn(region, there, found, live)
        found = _missing(region, made, there)
    in_charts = {
        release: [one for one in missing if one.kind in (VOLUME, IMAGE)] for release, missing in found.items()
    }
    to_bring = {
        release: [one for one in missing if one.kind not in (VOLUME, IMAGE)]
        for release, missing in found.items()
    }
    namespace, images = region.deployment.namespace, region.deployment.spec.images
    known = known.with_ways(
        {f"{SECRET}/{name}": log_in_command(images, name) for name in images.pull_secrets}
        | {f"{SECRET}/{name}": _with_an_account(name, keys) for name, keys in _of_accounts(region).items()}
    )
    waits = [_offer(ceph)] if ceph is not None and ceph.clients else []
    told = {one.name for missing in to_bring.values() for one in missing if one.kind == SECRET}
    waits += [*missing_secrets(region, there, told), *unfit, *_unpublished(region, made, given)]
    return known.problems(in_charts, namespace), [*known.problems(to_bring, namespace, there.keys), *waits]


def _learn(
    region: OfflineRegion, there: Made, found: Mapping[str, Sequence[Reference]], live: LiveObject
) -> list[Problem]:
    """Adds what the cluster has of what is missing, and returns what is wrong with Secrets that are there."""
    namespace, problems = region.deployment.namespace, list[Problem]()
    named_by = {one.name: one for one in operator_secrets(region.deployment.document)}
    wanted = [(one.kind, one.name) for refs in found.values() for one in refs]
    wanted += [(SECRET, name) for name in named_by if (SECRET, name) not in there.keys]
    for kind, name in dict.fromkeys(wanted):
        obj = live(kind, name, namespace)
        if obj is None:
            continue
        for place, keys in made_by([obj]).keys.items():
            there.add(*place, keys)
        if kind == SECRET and name in named_by:
            asked = any(one.name == name and one.key for refs in found.values() for one in refs)
            problems += faults_of(named_by[name], obj, SystemClock().now(), of_keys=not asked)
    return problems


def _missing(
    region: OfflineRegion, made: Mapping[str, Sequence[KubeObject]], there: Made
) -> dict[str, list[Reference]]:
    """By release, what its objects and values refer to and that is not there."""
    return {
        release: [
            *dangling(objects, there, region.deployment.namespace),
            *(one for one in _of_values(region, release) if not there.has(one)),
        ]
        for release, objects in made.items()
    }


def _of_accounts(region: OfflineRegion) -> dict[str, list[str]]:
    """The Secrets with suffixes of account names, and the other keys that values need from them."""
    found: dict[str, dict[str, None]] = {}
    naming: set[str] = set()
    for bundle in region.region.bundles:
        for release in bundle.releases:
            for one in find_references(release.spec.values):
                if one.key == ACCOUNT_SUFFIX and one.prefix is not None:
                    naming.add(one.name)
                else:
                    found.setdefault(one.name, {})[one.key] = None
    return {name: sorted(keys) for name, keys in found.items() if name in naming}


def _with_an_account(name: str, keys: Sequence[str]) -> str:
    files = "".join(f" --from-file={key}" for key in keys)
    made = f"kubectl -n {{namespace}} create secret generic {name}{files}"
    ending = f"--from-literal={ACCOUNT_SUFFIX}={AN_ENDING}"
    hints = "a suffix that no account has had; write files without a newline at the end (printf %s)"
    return f"{made} {ending} ({hints})"


def _offer(needs: CephNeeds) -> Problem:
    """The requirements on a Ceph cluster before its consumers can start."""
    clients = ", ".join(client.name for client in needs.clients)
    pools = ", ".join(pool.name for pool in needs.pools) or "none"
    text = f"the services wait for what Ceph offers them in a Secret of namespace {needs.namespace}: "
    text += f"clients {clients} and pools {pools}"
    own = needs.source != ROOK and needs.secret_name != OFFER_SECRET
    place = f"{{name: {needs.namespace}, secrets: [{needs.secret_name}]}}" if own else needs.namespace
    remedy = f"see docs/ceph.md, and name {place} in ceph.namespaces of the controller's chart"
    return Problem("spec.features.ceph", text, remedy)


def _unpublished(
    region: OfflineRegion, made: Mapping[str, Sequence[KubeObject]], given: Iterable[InputObject]
) -> Iterable[Problem]:
    """Public endpoints by https that neither a release nor a file publishes."""
    spec = region.deployment.spec
    objects = [*(obj for release in made.values() for obj in release), *named(given)]
    if spec.features.tree["tls"]["public"]["enabled"] and not any(
        obj.get("kind") in _PUBLISHING for obj in objects
    ):
        domain = spec.public_domain_name
        text = f"no release and no file publishes the names below {domain} by https"
        remedy = "enable service gateway, or let a proxy of yours do it (docs/encryption.md)"
        yield Problem("spec.features.tls.public.enabled", text, remedy)


def _of_values(region: OfflineRegion, release: str) -> Iterable[Reference]:
    found = region.region.release(release)
    references = find_references(found.spec.values) if found is not None else ()
    secrets = (one for one in references if one.prefix is None)
    return (Reference(f"values of {release}", SECRET, one.name, one.key) for one in secrets)


def named(given: Iterable[InputObject]) -> Iterable[KubeObject]:
    return (item.obj for item in given if item.name)
