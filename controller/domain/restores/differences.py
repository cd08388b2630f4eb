"""What the databases knew that a backup does not know, and the other way round. Pure.

The Job that loads a backup notes the objects of each database before it drops it. It compares them with what
it has loaded, and prints the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.api.shortened_text import shorten
from controller.domain.shared.plurals import count

# The status has room for so many; the counts are of all.
MOST = 200
_LONGEST = 255


class Difference(StrEnum):
    """How an object that was there differs from the backup."""

    NOT_IN_BACKUP = "NotInBackup"
    ONLY_IN_BACKUP = "OnlyInBackup"
    ELSEWHERE = "OnAnotherHost"


@dataclass(frozen=True)
class ObjectKind:
    """Objects of one kind: databases, by a pattern of the shell, table, columns, and which rows count."""

    kind: str
    databases: str
    table: str
    id: str = "id"
    name: str = "name"
    host: str = "''"
    rows: str = "TRUE"


KINDS = (
    # Each cell has a database of its own; the one named nova is that of a cell or of the API.
    ObjectKind("server", "nova|nova_cell*", "instances", "uuid", "display_name", "host", "deleted = 0"),
    ObjectKind("volume", "cinder", "volumes", name="display_name", host="host", rows="deleted = 0"),
    ObjectKind("image", "glance", "images", rows="deleted = 0"),
    ObjectKind("network", "neutron", "networks"),
    ObjectKind("port", "neutron", "ports"),
    ObjectKind("project", "keystone", "project"),
    ObjectKind("user", "keystone", "local_user", id="user_id"),
)


@dataclass(frozen=True)
class ObjectDifference:
    """One object that differs. `host`: where it was before the restore, or is by the backup."""

    what: Difference
    kind: str
    id: str
    name: str = ""
    host: str = ""

    def entry(self) -> dict[str, str]:
        """As the status has it."""
        found = {"what": str(self.what), "kind": self.kind, "id": self.id, "name": self.name}
        return {key: value for key, value in {**found, "host": self.host}.items() if value}


@dataclass(frozen=True)
class LoadReport:
    """What the Job that has loaded a backup says. `text` sums it up."""

    differences: tuple[ObjectDifference, ...] = ()
    text: str = ""


def difference_in(given: Mapping[str, Any]) -> ObjectDifference:
    """An entry of the status. Raises KeyError, ValueError for another."""
    texts = {key: str(given.get(key) or "") for key in ("kind", "id", "name", "host")}
    return ObjectDifference(Difference(str(given["what"])), **texts)


def read_report(printed: str, northbound: str = "") -> LoadReport:
    """What is in the output of the Job's containers: of the databases, and of OVN's northbound database."""
    found, counts, unknown = [], [], []
    for line in printed.splitlines():
        mark, *parts = line.split("\t")
        if mark == "differs" and len(parts) >= 5:
            what, kind, id_, host, name = parts[:5]
            if what in set(Difference):
                found.append(ObjectDifference(Difference(what), kind, id_, _cut(name), _cut(host)))
        elif mark == "count" and len(parts) == 3 and parts[0] in set(Difference):
            number = int(parts[2]) if parts[2].isdecimal() else 0
            counts.append(f"{count(number, parts[1])} {_WORDS[Difference(parts[0])]}")
        elif mark == "unknown" and parts:
            unknown.append(parts[0])
    texts = [*counts]
    if unknown:
        text = "is not known, because it had no table before the restore"
        texts.append(f"what was made after the backup ({', '.join(sorted(set(unknown)))}) {text}")
    lines = northbound.strip().splitlines()
    if lines and not lines[-1].startswith(LOADED):
        texts.append(f"OVN's northbound database was not loaded ({_cut(lines[-1])}): docs/restore.md")
    return LoadReport(tuple(found[:MOST]), "; ".join(texts))


LOADED = "loaded"
_WORDS = {
    Difference.NOT_IN_BACKUP: "not in the backup",
    Difference.ONLY_IN_BACKUP: "only in the backup",
    Difference.ELSEWHERE: "on another host by the backup",
}


def _cut(text: str) -> str:
    return shorten(" ".join(text.split()), _LONGEST)


def compare_script(kinds: Iterable[ObjectKind] = KINDS) -> str:
    """The shell functions `note SIDE DATABASE` and `compare`. They need `sql` and `$restore`.

    Before a database is dropped, all of its kinds are noted. A kind that is noted is not noted again: an
    attempt after this one finds a database that is half loaded. A kind is not known if a table of it is in
    the backup and was not there before.
    """
    lines = [
        f"  case $2 in {one.databases}) note_kind $1 {one.kind} $2 {one.table} \\\n"
        f"    \"{one.id}, COALESCE({one.name}, ''), COALESCE({one.host}, '')\" '{one.rows}' ;; esac\n"
        for one in kinds
    ]
    order = ", ".join(f"'{one.kind}'" for one in kinds)
    text = _COMPARE.replace("@lines@", "".join(lines)).replace("@order@", order)
    return text.replace("@most@", str(MOST))


_COMPARE = r"""
sql -e "CREATE DATABASE IF NOT EXISTS osctl_restore"
sql -e "CREATE TABLE IF NOT EXISTS osctl_restore.noted (restore_id CHAR(36), side CHAR(6), kind VARCHAR(16),
  db VARCHAR(64), known TINYINT, PRIMARY KEY (restore_id, side, kind, db))
  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
sql -e "CREATE TABLE IF NOT EXISTS osctl_restore.objects (restore_id CHAR(36), side CHAR(6), kind VARCHAR(16),
  id VARCHAR(255), name VARCHAR(255), host VARCHAR(255), PRIMARY KEY (restore_id, side, kind, id))
  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT=DYNAMIC"
note() {
@lines@  :
}
note_kind() {
  [ "$(sql -e "SELECT COUNT(*) FROM osctl_restore.noted
      WHERE restore_id = '$restore' AND side = '$1' AND kind = '$2' AND db = '$3'")" = 0 ] || return 0
  sql -e "START TRANSACTION;
      INSERT INTO osctl_restore.objects SELECT '$restore', '$1', '$2', $5 FROM \`$3\`.\`$4\` WHERE $6;
      INSERT INTO osctl_restore.noted VALUES ('$restore', '$1', '$2', '$3', 1); COMMIT" 2> /dev/null \
    || sql -e "INSERT INTO osctl_restore.noted VALUES ('$restore', '$1', '$2', '$3', 0)"
}
compare() {
  lost="SELECT DISTINCT lost.kind FROM osctl_restore.noted lost
    JOIN osctl_restore.noted loaded ON loaded.restore_id = lost.restore_id AND loaded.kind = lost.kind
      AND loaded.db = lost.db AND loaded.side = 'after' AND loaded.known = 1
    WHERE lost.restore_id = '$restore' AND lost.side = 'before' AND lost.known = 0"
  of="FROM osctl_restore.objects one LEFT JOIN osctl_restore.objects other
      ON other.restore_id = one.restore_id AND other.side <> one.side AND other.kind = one.kind
      AND other.id = one.id
    WHERE one.restore_id = '$restore' AND one.kind NOT IN ($lost)"
  sql -e "
    CREATE OR REPLACE TEMPORARY TABLE osctl_restore.found
      SELECT 'NotInBackup' AS what, one.kind, one.id, one.host, one.name $of
        AND one.side = 'before' AND other.id IS NULL
      UNION ALL SELECT 'OnlyInBackup', one.kind, one.id, one.host, one.name $of
        AND one.side = 'after' AND other.id IS NULL
      UNION ALL SELECT 'OnAnotherHost', one.kind, one.id, one.host, one.name $of
        AND one.side = 'before' AND other.host <> one.host;
    SELECT 'count', what, kind, COUNT(*) FROM osctl_restore.found
      GROUP BY what, kind ORDER BY FIELD(kind, @order@), what;
    SELECT 'differs', what, kind, id, host, name FROM osctl_restore.found
      ORDER BY FIELD(kind, @order@), what, name LIMIT @most@;
    SELECT 'unknown', kind FROM ($lost) AS kinds"
}
"""
