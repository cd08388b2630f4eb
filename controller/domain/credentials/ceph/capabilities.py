"""What capabilities of Ceph allow, as far as it has to be compared. Pure.

The grammar is Ceph's (docs.ceph.com, rados/operations/user-management): clauses with commas or semicolons
between them, each a profile or an `allow`, with words that narrow it. Names may stand in quotes, and follow
what they belong to after a space or a `=` (ceph: src/mon/MonCap.cc, src/osd/OSDCap.cc).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from controller.domain.values.ceph_needs import capability_clauses

_QUOTES = re.compile(r"[\"']")
_LETTERS = frozenset("rwx")
_RULING_PROFILES = frozenset(("admin", "mon", "osd", "mds", "mgr", "role-definer"))
# Commands of the monitors that show keys, Ceph's own among them, or say who may do what.
_RULING_COMMANDS = frozenset(("auth", "config-key"))


def is_administrator(capabilities: Mapping[str, str]) -> bool:
    """Whether they allow everything on any kind of daemon, as those of client.admin do, or to write at the
    monitors, which tell who may do what, or to see keys there.

    A profile writes there only what it is for, except those of Ceph's own daemons and of who gives rights.
    """
    return any(
        _allows_all(_QUOTES.sub(" ", clause), kind.strip().lower())
        for kind, text in capabilities.items()
        for clause in capability_clauses(text)
    )


def _allows_all(clause: str, kind: str) -> bool:
    words = clause.split()
    if "*" in words or words[:2] == ["allow", "all"]:
        return True
    if kind != "mon":
        return False
    words = clause.replace("=", " ").split()
    if "profile" in words:
        return not _RULING_PROFILES.isdisjoint(words)
    if words[1:2] == ["command"]:
        return not _RULING_COMMANDS.isdisjoint(words[2:])
    return any(set(word) <= _LETTERS and word != "r" for word in words)


def lacking(needed: Mapping[str, str], offered: Mapping[str, str]) -> bool:
    """Whether a clause that is needed is in none that is offered: not itself, nor a wider one.

    A manager is asked by clients of block devices for figures only: without it they work.
    """
    return any(
        not any(_contains(there, clause) for there in capability_clauses(offered.get(kind, "")))
        for kind, text in needed.items()
        for clause in capability_clauses(text)
        if kind != "mgr" or "osd" not in needed
    )


def _contains(there: str, needed: str) -> bool:
    """Whether one clause allows what the other does: it is the same, for any pool, or it allows more."""
    rights, pool = _parts(there)
    asked, asked_pool = _parts(needed)
    if pool not in ("", asked_pool):
        return False
    if rights == asked:
        return True
    if asked == "profile rbd-read-only":
        return rights == "profile rbd"
    letters, asked_letters = _letters(rights), _letters(asked)
    return bool(asked_letters) and asked_letters <= letters


def _parts(clause: str) -> tuple[str, str]:
    """The rights, and the pool that they are for; empty for any."""
    words = _QUOTES.sub(" ", clause).replace("=", " ").split()
    words = words[1:] if words[:2] == ["allow", "profile"] else words
    if "pool" not in words[:-1]:
        return " ".join(words), ""
    at = words.index("pool")
    return " ".join([*words[:at], *words[at + 2 :]]), words[at + 1]


def _letters(rights: str) -> frozenset[str]:
    word = rights.removeprefix("allow ")
    return frozenset(word) if word != rights and set(word) <= _LETTERS else frozenset()
