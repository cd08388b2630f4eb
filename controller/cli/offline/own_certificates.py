"""The certificate of the public endpoints, where its Secret is among the files: do clients accept it?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.cli.offline.charts import secret_texts
from controller.cli.offline.input_files import InputObject
from controller.cli.offline.region import DEFAULT_NAMESPACE, OfflineRegion
from controller.domain.api.conditions import timestamp
from controller.domain.credentials.x509 import AuthorityUnusable, LeafFacts, read_leaf, validity
from controller.domain.values.catalogue import Catalogue, public_hosts
from controller.errors import Problem
from controller.ports.kubernetes import SECRET

_PATH = "spec.features.tls.public.secretName"
_CHAIN, _KEY = "tls.crt", "tls.key"
_REMEDY = "bring another one: kubectl create secret tls {name} --cert=tls.crt --key=tls.key"
_MOST_NAMED = 3


def certificate_warnings(
    region: OfflineRegion, given: Sequence[InputObject], catalogue: Catalogue, now: float
) -> Iterator[Problem]:
    """A warning for each reason why clients would refuse the certificate that a Secret of the files holds."""
    public = region.deployment.spec.features.tree["tls"]["public"]
    name = public["secretName"] if public["enabled"] else None
    found = next((item for item in given if name and _is_it(item, name, region.deployment.namespace)), None)
    if name is None or found is None:
        return
    texts = dict(secret_texts(found.obj))
    services = [catalogue[bundle.service] for bundle in region.region.bundles]
    hosts = public_hosts(services, region.deployment.spec.public_domain_name)
    faults = _faults(texts.get(_CHAIN, ""), texts.get(_KEY, ""), sorted(set(hosts.values())), now)
    for fault in faults:
        yield Problem(_PATH, f"Secret {name} {fault}", _REMEDY.format(name=name))


def _is_it(item: InputObject, name: str, namespace: str) -> bool:
    where = item.obj["metadata"].get("namespace") or namespace or DEFAULT_NAMESPACE
    return item.kind == SECRET.kind and item.name == name and where == namespace


def _faults(chain: str, key: str, hosts: Sequence[str], now: float) -> Iterator[str]:
    if not chain or not key:
        yield f"has no {_KEY if chain else _CHAIN}"
        return
    facts = read_leaf(chain, key)
    if facts is None:
        try:
            validity(chain)
        except AuthorityUnusable:
            yield f"has no certificate in {_CHAIN}"
        else:
            yield f"has a {_KEY} that is not the key of {_CHAIN}"
        return
    if facts.end <= now:
        yield f"has a certificate that ended on {timestamp(facts.end)}"
    elif facts.begin > now:
        yield f"has a certificate that begins on {timestamp(facts.begin)}"
    missing = [host for host in hosts if not _stands_for(facts, host)]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        told = ", ".join(sorted(facts.names)) or "no name"
        yield f"has a certificate for {told}, not for {', '.join(missing[:_MOST_NAMED])}{more}"


def _stands_for(facts: LeafFacts, host: str) -> bool:
    """A star stands for the first label of a name (RFC 6125)."""
    return host in facts.names or f"*.{host.partition('.')[2]}" in facts.names
