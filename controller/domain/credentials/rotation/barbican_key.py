"""The key with which Barbican's simple crypto plugin wraps the keys of projects. Pure.

Its option `kek` is a list: the first key wraps, all of them unwrap (plugin/crypto/simple_crypto.py). So there
are three: the key in use, the next one, which every pod has before the first one wraps with it, and the
former one. A rotation moves each by one place, in one write. It drops the former key of the previous
rotation: before the write it is ensured that nothing is wrapped with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

IN_USE, NEXT, FORMER = "simple-crypto-key", "simple-crypto-next-key", "simple-crypto-former-key"
KEYS = (IN_USE, NEXT, FORMER)
_SERVICE = "key-manager"
# During a rotation: a key lost meanwhile is in no Helm record under the same name.
_KEPT = "-kept"
_KEPT_KEYS = (IN_USE, FORMER)


def wraps(service: str, used: Collection[str]) -> bool:
    """Whether the keys are in the Secret of a service, among those that releases use."""
    return service == _SERVICE and set(KEYS) <= set(used)


def moved_texts(texts: Mapping[str, str], make: Callable[[], str]) -> dict[str, str | None]:
    """The content of the Secret from a rotation on. Raises LookupError if one of the keys is missing."""
    used, following = texts[IN_USE], texts[NEXT]
    moved: dict[str, str | None] = {IN_USE: following, NEXT: make(), FORMER: used}
    return moved | {kept_name(IN_USE): following, kept_name(FORMER): used}


def lost_texts(texts: Mapping[str, str], make: Callable[[], str]) -> dict[str, str]:
    """Restores keys lost since a rotation began: a key from its second name, and a second name from its key.

    Nothing is wrapped yet with keys generated here.
    """
    pairs = [(key, kept_name(key)) for key in _KEPT_KEYS]
    found = {
        gone: texts[left]
        for pair in pairs
        for gone, left in (pair, pair[::-1])
        if not texts.get(gone) and texts.get(left)
    }
    return found if texts.get(NEXT) else {**found, NEXT: make()}


def ended_texts() -> dict[str, str | None]:
    """Keys that the end of a rotation removes."""
    return {kept_name(key): None for key in _KEPT_KEYS}


def kept_name(key: str) -> str:
    """The second name of a key during a rotation."""
    return f"{key}{_KEPT}"


def is_kept(key: str) -> bool:
    """Whether a key of a Secret exists only during a rotation."""
    return key in map(kept_name, _KEPT_KEYS)
