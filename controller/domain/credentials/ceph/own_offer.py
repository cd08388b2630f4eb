"""Reads the offer of any Ceph cluster: one document in one Secret (docs/ceph.md). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from controller.domain.credentials.ceph.offer import (
    KEY_OF_SEVERAL,
    NO_TEXT,
    CephMalformed,
    CephOffer,
    Monitor,
    OfferedClient,
    OfferedPool,
    OfferProblem,
    Place,
    find_repeated,
    joined,
    keys_of_several,
    parse_address,
    parse_fsid,
    parse_key,
)
from controller.domain.values.ceph_needs import ROLES
from controller.domain.values.yaml_reader import read_documents
from controller.errors import SpecInvalid

# The key of the Secret, and its maximum size.
DOCUMENT = "ceph.yaml"
_LARGEST = 65536
_FIELDS = ("fsid", "monitors", "clients", "pools", "rgw")
_MOST_MONITORS = 64


def parse_own_offer(place: Place, texts: Mapping[str, str] | None) -> CephOffer:
    """The offer in the texts of this Secret by key, or None without the Secret.

    A malformed client is a separate problem; any other mistake makes the offer unusable.
    """
    try:
        document = _document(texts)
        fsid = _told(document, "fsid", parse_fsid)
        monitors = tuple(_monitors(document.get("monitors")))
        pools = None if document.get("pools") is None else tuple(_pools(_map(document, "pools")))
        gateway = _gateway(document.get("rgw"))
        entries = _map(document, "clients")
    except CephMalformed as error:
        return CephOffer(problems=(OfferProblem(place, str(error)),))
    clients, problems = {}, []
    for user, entry in sorted(entries.items()):
        try:
            clients[user] = _client(user, entry)
        except CephMalformed as error:
            problems.append(OfferProblem(place, f"clients.{user} {error}", user))
    for user in sorted(keys_of_several(clients)):
        del clients[user]
        problems.append(OfferProblem(place, f"clients.{user} {KEY_OF_SEVERAL}", user))
    return CephOffer(fsid, monitors, clients, pools, gateway, tuple(problems))


def _document(texts: Mapping[str, str] | None) -> Mapping[str, Any]:
    if texts is None:
        raise CephMalformed("the Secret does not exist; docs/ceph.md describes its format")
    text = texts.get(DOCUMENT) or ""
    if not text.strip():
        raise CephMalformed(f'the Secret has no "{DOCUMENT}"')
    if text == NO_TEXT:
        raise CephMalformed(f'its "{DOCUMENT}" is not UTF-8 text')
    if len(text) > _LARGEST:
        raise CephMalformed(f'its "{DOCUMENT}" has more than {_LARGEST} characters')
    try:
        documents = read_documents(text, DOCUMENT)
    except SpecInvalid as error:
        # The parser's own text quotes the input.
        raise CephMalformed(f'its "{DOCUMENT}" is not YAML{_line(error)}') from None
    if len(documents) != 1 or not isinstance(documents[0].value, Mapping):
        raise CephMalformed(f'its "{DOCUMENT}" is not one map')
    unknown = [key for key in documents[0].value if key not in _FIELDS]
    if unknown:
        raise CephMalformed(f'its "{DOCUMENT}" has fields other than {", ".join(_FIELDS)}')
    return documents[0].value


def _line(error: SpecInvalid) -> str:
    line = error.problems[0].source.rpartition(":")[2] if error.problems else ""
    return f", line {line}" if line.isdigit() else ""


def _told(document: Mapping[str, Any], name: str, parse: Any) -> str:
    text = document.get(name)
    if not isinstance(text, str) or not text:
        raise CephMalformed(f'its "{DOCUMENT}" has no {name}')
    try:
        return str(parse(text))
    except CephMalformed as error:
        raise CephMalformed(f"its {name} {error}") from None


def _map(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    if not isinstance(found, Mapping) or not all(isinstance(key, str) and key for key in found):
        raise CephMalformed(f"its {name} are not a map")
    return found


def _monitors(entries: Any) -> Iterator[Monitor]:
    if not isinstance(entries, list) or not entries or len(entries) > _MOST_MONITORS:
        raise CephMalformed(f"the monitors are not a list of 1 to {_MOST_MONITORS}")
    found = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or not entry or set(entry) - {"v1", "v2"}:
            raise CephMalformed(f"monitors[{index}] must have v2, v1 or both, and nothing else")
        found.append(Monitor(**{version: _place(index, version, entry[version]) for version in entry}))
    repeated = find_repeated(found)
    if repeated is not None:
        raise CephMalformed(f"monitors[{repeated}] repeats an address and port")
    # The order of monitors does not matter.
    yield from sorted(found, key=str)


def _place(index: int, version: str, text: Any) -> str:
    try:
        return joined(*parse_address(text if isinstance(text, str) else ""))
    except CephMalformed as error:
        raise CephMalformed(f"monitors[{index}].{version} {error}") from None


def _pools(entries: Mapping[str, Any]) -> Iterator[OfferedPool]:
    for name, entry in sorted(entries.items()):
        known = isinstance(entry, Mapping) and not set(entry) - {"role", "volumeType"}
        if not known or entry.get("role") not in ROLES:
            raise CephMalformed(f"each of its pools needs a role, one of {', '.join(ROLES)}")
        kind = entry.get("volumeType") or ""
        if not isinstance(kind, str):
            raise CephMalformed("the volumeType of a pool is not a string")
        yield OfferedPool(name, entry["role"], kind)


def _client(user: str, entry: Any) -> OfferedClient:
    if not isinstance(entry, Mapping) or set(entry) - {"key", "caps"}:
        raise CephMalformed("must have key, may have caps, and nothing else")
    key, caps = entry.get("key"), entry.get("caps")
    if not isinstance(key, str) or not key:
        raise CephMalformed("has no key")
    if caps is not None and not (
        isinstance(caps, Mapping) and all(isinstance(one, str) for pair in caps.items() for one in pair)
    ):
        raise CephMalformed(".caps is not a map of strings")
    try:
        return OfferedClient(parse_key(key), dict(caps or {}))
    except CephMalformed as error:
        raise CephMalformed(f".key {error}") from None


def _gateway(entry: Any) -> str:
    if entry is None:
        return ""
    url = entry.get("url") if isinstance(entry, Mapping) and set(entry) == {"url"} else None
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        whole = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)
        plain = parts is not None and parts.username is None and not parts.query and parts.port != 0
    except ValueError:
        whole = plain = False
    if not whole or not plain:
        raise CephMalformed("the field rgw needs url: http:// or https:// with a host, and no account")
    return str(url).rstrip("/")
