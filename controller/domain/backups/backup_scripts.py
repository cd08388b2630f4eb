"""The programs of the pods that back up a region and try a backup. Pure.

They need a shell, awk, and the programs of their image. The containers of a pod share /backup: `region` goes
into the repository, and the files beside it are notes.
"""

from __future__ import annotations

from controller.domain.backups.repository import PREPARE

# The first argument of DUMP. All databases are dumped in one transaction, so that they are of one moment.
# mariadb-dump marks where each begins, and comes back to one for its views. A row of an INSERT is a line of
# its own, and no text has a line end that is not escaped.
SPLIT = r"""
function counted() { if (table != "") rows[name "\t" table] += count; count = 0 }
BEGIN {
  while ((getline name < names) > 0) known[name] = 1
  while ((getline line < sets) > 0) {
    split(line, part, "\t")
    set[part[1]] = "ALTER DATABASE CHARACTER SET " part[2] " COLLATE " part[3] ";\n"
  }
}
# Nearly all lines are rows: they come first, and are counted without a look into the map.
table != "" && /^\(/ { count++; print >> out; next }
/^-- Current Database: `/ {
  counted()
  name = substr($0, 23, length($0) - 23)
  if (name in known) {
    if (out != "") close(out)
    out = dir "/" name ".sql"
    if (!(name in begun)) { printf "%s%s", header, set[name] >> out; begun[name] = 1 }
    used = 0; table = ""
    next
  }
}
out == "" { header = header $0 "\n"; next }
!used && $0 == "USE `" name "`;" { used = 1; next }
/^INSERT INTO `/ { counted(); split(substr($0, 1, 300), part, "`"); table = part[2]; print >> out; next }
/^CREATE TABLE `/ { split(substr($0, 1, 300), part, "`"); rows[name "\t" part[2]] += 0 }
{ counted(); table = ""; last = $0; print >> out }
END {
  counted()
  for (one in rows) print one "\t" rows[one] > tables
  for (one in known) if (!(one in begun)) { print one " is not in the dump" > "/dev/stderr"; exit 1 }
  if (last !~ /^-- Dump completed/) { print "the dump is cut" > "/dev/stderr"; exit 1 }
}
"""

DUMP = r"""set -eu
umask 022
rm -rf /backup/region
mkdir -p /backup/region/databases
(umask 077
 quoted() { sed 's/\\/\\\\/g; s/"/\\"/g'; }
 printf '[client]\nuser="%s"\npassword="%s"\n' "$(printf %s "$DB_USER" | quoted)" \
   "$(quoted < /client-login/MYSQL_DBADMIN_PASSWORD)" > /client-keys/my.cnf)
client="--defaults-file=/client-keys/my.cnf --host=$DB_HOST --port=$DB_PORT"
sql() { mariadb $client --batch --skip-column-names "$@"; }
stamp=$(date -u +%Y%m%dT%H%M%SZ)
echo "$stamp-$(od -An -N3 -tx1 /dev/urandom | tr -d ' \n')" > /backup/id
echo "$stamp" | sed 's/\(....\)\(..\)\(..\)T\(..\)\(..\)\(..\)Z/\1-\2-\3T\4:\5:\6Z/' > /backup/started
sql -e 'SELECT VERSION()' > /backup/version
# Of the moment before: what is written meanwhile may be in the dump as well.
sql -e 'SELECT @@gtid_current_pos' > /backup/gtid
sql -e 'SHOW DATABASES' \
  | grep -vxE 'information_schema|mysql|performance_schema|sys|osctl_restore|.*lost.found' \
  > /backup/names || true
[ -s /backup/names ] || { echo "the database has no database of a service" >&2; exit 1; }
if grep -vxE '[0-9A-Za-z_][0-9A-Za-z_.-]{0,63}' /backup/names >&2; then
  echo "these names of databases cannot be in a backup; rename them" >&2
  exit 1
fi
# Tables that a service makes later have the character set of their database.
sql -e 'SELECT schema_name, default_character_set_name, default_collation_name
  FROM information_schema.schemata' > /backup/sets
rm -f /backup/failed
{ LC_ALL=C mariadb-dump $client --single-transaction --quick --routines --events --hex-blob \
    --no-create-db --databases $(cat /backup/names) || echo $? > /backup/failed; } \
  | LC_ALL=C awk -v dir=/backup/region/databases -v names=/backup/names -v tables=/backup/tables \
      -v sets=/backup/sets \
      "$1"
[ ! -e /backup/failed ] || { echo "mariadb-dump ended with code $(cat /backup/failed)" >&2; exit 1; }
"""
# Neutron can write it again from its own database: a region without its OVN is backed up all the same.
NORTHBOUND = r"""set -u
umask 022
if ovsdb-client --timeout=60 backup "$OVN_NORTHBOUND" OVN_Northbound > /backup/northbound.db; then
  mv /backup/northbound.db /backup/region/ovn-northbound.db
else
  rm -f /backup/northbound.db
  echo "OVN's northbound database does not answer, and is left out"
fi
"""
STORE = (
    "set -eu\n"
    + PREPARE
    + r"""
id=$(cat /backup/id)
# Without a lock: one that a killed pod has left keeps out each command but unlock.
if ! error=$(repo cat config --no-lock 2>&1 > /dev/null); then
  case $error in
    *"Is there a repository"*|*"repository does not exist"*) repo init > /dev/null ;;
    *) echo "$error" >&2; exit 1 ;;
  esac
fi
repo unlock > /dev/null
(cd /backup/region && repo backup --quiet --host region --tag "region=$REGION,backup=$id" .)
warning=
if [ "$PRUNE" != yes ]; then
  warning="older backups are kept, because the last drill failed"
elif ! error=$(repo forget --quiet --prune --host region --tag "region=$REGION" --group-by host \
    --keep-last "$KEEP_LAST" --keep-daily "$KEEP_DAILY" --keep-weekly "$KEEP_WEEKLY" 2>&1); then
  echo "$error" >&2
  warning="older backups were not removed: $(echo "$error" | tail -n 1 | tr -d '\000-\037' | cut -c1-300)"
fi
{ cat /backup/record; echo "ended $(date -u +%Y-%m-%dT%H:%M:%SZ)"
  [ -z "$warning" ] || echo "warning $warning"; } > "${RECORD:-/dev/termination-log}"
"""
)

# The newest backup, or the one that $BACKUP names; a damaged repository fails here.
FETCH = (
    "set -eu\n"
    + PREPARE
    + r"""
rm -rf /backup/fetched
[ -z "${BACKUP:-}" ] || REGION="$REGION,backup=$BACKUP"
repo check --no-lock > /dev/null
repo restore latest --no-lock --tag "region=$REGION" --target /backup/fetched > /dev/null
"""
)
# A server that only this pod reaches. What a crash would lose is worth nothing.
TRY = r"""set -eu
cd /backup/fetched
top=$(find . -name manifest.json -type f | head -n 1)
cd "$(dirname "$top")"
data=/scratch/data socket=/scratch/socket
rm -rf "$data"; mkdir -p "$data"
install=$(command -v mariadb-install-db || command -v mysql_install_db)
server=$(command -v mariadbd || command -v mysqld)
"$install" --no-defaults --datadir="$data" --skip-test-db \
  --auth-root-authentication-method=normal > /scratch/install.log 2>&1 \
  || { tail -n 5 /scratch/install.log >&2; exit 1; }
"$server" --no-defaults --datadir="$data" --socket="$socket" \
  --pid-file=/scratch/pid --skip-networking --skip-log-bin --innodb-buffer-pool-size=256M \
  --innodb-flush-log-at-trx-commit=0 --skip-innodb-doublewrite --tmpdir=/scratch \
  > /scratch/server.log 2>&1 &
pid=$!
trap 'kill $pid 2> /dev/null; wait $pid 2> /dev/null || true' EXIT
sql() { mariadb --no-defaults --socket="$socket" --user=root --batch --skip-column-names "$@"; }
tries=0
until sql -e 'SELECT 1' > /dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 120 ] && kill -0 $pid 2> /dev/null \
    || { echo "the scratch database does not start" >&2; tail -n 5 /scratch/server.log >&2; exit 1; }
  sleep 1
done
while read -r name file; do
  sql -e "CREATE DATABASE \`$name\`"
  case $file in
    *.gz) gzip -dc "$file" > /scratch/.sql && sql "$name" < /scratch/.sql && rm -f /scratch/.sql ;;
    *) sql "$name" < "$file" ;;
  esac || { echo "$name cannot be loaded" >&2; exit 1; }
  # Each service has noted the version of its tables, and Keystone cannot work without roles.
  for table in alembic_version role; do
    there=$(sql -e "SELECT COUNT(*) FROM information_schema.tables
      WHERE table_schema = '$name' AND table_name = '$table'")
    [ "$there" = 0 ] || [ "$(sql -e "SELECT COUNT(*) FROM \`$name\`.\`$table\`")" != 0 ] \
      || { echo "$name: table $table is empty" >&2; exit 1; }
  done
done < /backup/databases
awk -F '\t' '{ printf "SELECT \"%s\", \"%s\", COUNT(*) FROM `%s`.`%s`;\n", $1, $2, $1, $2 }' \
  /backup/expected > /scratch/count.sql
sql < /scratch/count.sql > /backup/counted || { echo "a table of the manifest is not there" >&2; exit 1; }
if ! cmp -s /backup/expected /backup/counted; then
  echo "rows differ from the manifest (database, table, rows):" >&2
  diff /backup/expected /backup/counted | head -n 10 >&2
  exit 1
fi
{ cat /backup/record; echo "ended $(date -u +%Y-%m-%dT%H:%M:%SZ)"; } > "${RECORD:-/dev/termination-log}"
"""
