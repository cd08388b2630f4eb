"""Compares the rights of Ceph's capabilities. Pure.

The grammar is Ceph's (docs.ceph.com, rados/operations/user-management): clauses with commas or semicolons
between them, each a profile or an `allow`, with restrictions. Names may be in quotes, and follow their
keyword after a space or a `=` (ceph: src/mon/MonCap.cc, src/osd/OSDCap.cc).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from controller.domain.values.ceph_needs import capability_clauses

_QUOTES = re.compile(r"[\"']")
_LETTERS = frozenset("rwx")
_RULING_PROFILES = frozenset(("admin", "mon", "osd", "mds", "mgr", "role-definer"))
# Commands of the monitors that show keys, including Ceph's own, or change rights.
_RULING_COMMANDS = frozenset(("auth", "config-key"))


def is_administrator(capabilities: Mapping[str, str]) -> bool:
    """Whether they allow everything on any kind of daemon, like those of client.admin, or writes to the
    monitors, which hold the rights, or reading of keys there. A profile writes there only for its purpose,
    except those of Ceph's own daemons and of managers of rights.
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
    """Whether no offered clause covers a needed one, by itself or by a wider one.

    Clients of block devices use the manager for statistics only, and work without it.
    """
    return any(
        not any(_contains(there, clause) for there in capability_clauses(offered.get(kind, "")))
        for kind, text in needed.items()
        for clause in capability_clauses(text)
        if kind != "mgr" or "osd" not in needed
    )


def _contains(there: str, needed: str) -> bool:
    """Whether one clause covers the other: it is the same, for any pool, or allows more."""
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
    """The rights and their pool; empty for any pool."""
    words = _QUOTES.sub(" ", clause).replace("=", " ").split()
    words = words[1:] if words[:2] == ["allow", "profile"] else words
    if "pool" not in words[:-1]:
        return " ".join(words), ""
    at = words.index("pool")
    return " ".join([*words[:at], *words[at + 2 :]]), words[at + 1]


def _letters(rights: str) -> frozenset[str]:
    word = rights.removeprefix("allow ")
    return frozenset(word) if word != rights and set(word) <= _LETTERS else frozenset()
