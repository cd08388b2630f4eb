"""Checks that clients accept the certificate of the public endpoints, if its Secret is among the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.cli.offline.charts import secret_texts
from controller.cli.offline.input_files import InputObject
from controller.cli.offline.region import DEFAULT_NAMESPACE, OfflineRegion
from controller.domain.credentials.served_certificate import CHAIN, KEY, REMEDY, certificate_faults
from controller.domain.values.catalogue import Catalogue, public_hosts
from controller.errors import Problem
from controller.ports.kubernetes import SECRET

_PATH = "spec.features.tls.public.secretName"


def certificate_warnings(
    region: OfflineRegion, given: Sequence[InputObject], catalogue: Catalogue, now: float
) -> Iterator[Problem]:
    """A warning for each reason why clients would refuse the certificate in a Secret of the files."""
    public = region.deployment.spec.features.tree["tls"]["public"]
    name = public["secretName"] if public["enabled"] else None
    found = next((item for item in given if name and _is_it(item, name, region.deployment.namespace)), None)
    if name is None or found is None:
        return
    texts = dict(secret_texts(found.obj))
    services = [catalogue[bundle.service] for bundle in region.region.bundles]
    hosts = public_hosts(services, region.deployment.spec.public_domain_name)
    faults = certificate_faults(texts.get(CHAIN, ""), texts.get(KEY, ""), sorted(set(hosts.values())), now)
    for fault in faults:
        yield Problem(_PATH, f"Secret {name} {fault}", REMEDY.format(name=name))


def _is_it(item: InputObject, name: str, namespace: str) -> bool:
    where = item.obj["metadata"].get("namespace") or namespace or DEFAULT_NAMESPACE
    return item.kind == SECRET.kind and item.name == name and where == namespace
