"""Why clients would refuse an operator's own certificate of the public endpoints. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.domain.api.conditions import timestamp
from controller.domain.credentials.x509.read import AuthorityUnusable, LeafFacts, read_leaf, validity

CHAIN, KEY = "tls.crt", "tls.key"
REMEDY = "create it again: kubectl create secret tls {name} --cert=tls.crt --key=tls.key"
_MOST_NAMED = 3


def certificate_faults(chain: str, key: str, hosts: Sequence[str], now: float) -> Iterator[str]:
    """Each as what the Secret has; `hosts` are the names that clients ask."""
    if not chain or not key:
        yield f"has no {KEY if chain else CHAIN}"
        return
    facts = read_leaf(chain, key)
    if facts is None:
        try:
            validity(chain)
        except AuthorityUnusable:
            yield f"has no certificate in {CHAIN}"
        else:
            yield f"has a {KEY} that does not belong to {CHAIN}"
        return
    if facts.end <= now:
        yield f"has a certificate that expired on {timestamp(facts.end)}"
    elif facts.begin > now:
        yield f"has a certificate that is only valid from {timestamp(facts.begin)}"
    missing = [host for host in hosts if not _stands_for(facts, host)]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        told = ", ".join(sorted(facts.names)) or "no name"
        yield f"has a certificate for {told}, not for {', '.join(missing[:_MOST_NAMED])}{more}"


def _stands_for(facts: LeafFacts, host: str) -> bool:
    """A star stands for the first label of a name (RFC 6125)."""
    return host in facts.names or f"*.{host.partition('.')[2]}" in facts.names
