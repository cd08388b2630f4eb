"""The key with which Barbican's simple crypto plugin wraps the keys of projects. Pure.

Its option `kek` is a list: the first key wraps, all of them unwrap (plugin/crypto/simple_crypto.py).
So there are three: the one in use, the next one, which every pod has before the first one wraps with it, and
the former one. A rotation moves each by one place, in one write. What it takes out of the list is the former
one of the rotation before: by then nothing may be wrapped with it, which is seen to before the write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

IN_USE, NEXT, FORMER = "simple-crypto-key", "simple-crypto-next-key", "simple-crypto-former-key"
KEYS = (IN_USE, NEXT, FORMER)
_SERVICE = "key-manager"
# For the time of a rotation: what is lost meanwhile is in no record of Helm's under the same name.
_KEPT = "-kept"
_KEPT_KEYS = (IN_USE, FORMER)


def wraps(service: str, used: Collection[str]) -> bool:
    """Whether the Secret of a service has the keys, of those that releases use."""
    return service == _SERVICE and set(KEYS) <= set(used)


def moved_texts(texts: Mapping[str, str], make: Callable[[], str]) -> dict[str, str | None]:
    """What the Secret says from a rotation on. Raises LookupError where one of the keys is not there."""
    used, following = texts[IN_USE], texts[NEXT]
    moved: dict[str, str | None] = {IN_USE: following, NEXT: make(), FORMER: used}
    return moved | {kept_name(IN_USE): following, kept_name(FORMER): used}


def lost_texts(texts: Mapping[str, str], make: Callable[[], str]) -> dict[str, str]:
    """What has gone since a rotation began, as far as the rotation has it: a key by its second name, and a
    second name by its key. Nothing is wrapped yet with what is made here."""
    pairs = [(key, kept_name(key)) for key in _KEPT_KEYS]
    found = {
        gone: texts[left]
        for pair in pairs
        for gone, left in (pair, pair[::-1])
        if not texts.get(gone) and texts.get(left)
    }
    return found if texts.get(NEXT) else {**found, NEXT: make()}


def ended_texts() -> dict[str, str | None]:
    """What goes with the end of a rotation."""
    return {kept_name(key): None for key in _KEPT_KEYS}


def kept_name(key: str) -> str:
    """Under which name a rotation keeps a key a second time."""
    return f"{key}{_KEPT}"


def is_kept(key: str) -> bool:
    """Whether a key of a Secret is there for the time of a rotation only."""
    return key in map(kept_name, _KEPT_KEYS)
