#!/usr/bin/env python3
"""Bring the API database and both cells up to date. What cell1 is mapped to follows the configuration.

nova-manage is read once, which takes seconds of a processor; each of its commands runs in a process forked from here.
"""

import os
import sys
import traceback

from nova.cmd import manage


def nova_manage(*arguments: str) -> tuple[int, str]:
    """How the command ended, and what it printed, which is printed here, too."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(writer, sys.stdout.fileno())
            sys.argv = ["nova-manage", "--config-file", "/etc/nova/nova.conf", *arguments]
            code = manage.main() or 0
            sys.stdout.flush()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except Exception:  # noqa: BLE001  (told, and the process ends)
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as stream:
        printed = stream.read()
    print(printed, end="", flush=True)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), printed


def must(*arguments: str) -> str:
    code, printed = nova_manage(*arguments)
    if code != 0:
        sys.exit(f"nova-manage {' '.join(arguments[:2])} ended with {code}")
    return printed


def cells() -> dict[str, str]:
    """Name and identifier of each cell: the first two columns of a table."""
    rows = [
        [cell.strip() for cell in line.split("|")[1:3]] for line in must("cell_v2", "list_cells").splitlines()
    ]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def main() -> None:
    cell0 = ("--database_connection", os.environ["DB_CONNECTION_CELL0"])
    must("api_db", "sync")
    must("cell_v2", "map_cell0", *cell0)
    there = cells()
    address = (*cell0, "--transport-url", "none:///")
    must("cell_v2", "update_cell", "--cell_uuid", there["cell0"], "--name", "cell0", *address)
    if "cell1" in there:
        must("cell_v2", "update_cell", "--cell_uuid", there["cell1"], "--name", "cell1")
    else:
        must("cell_v2", "create_cell", "--name", "cell1")
    must("db", "sync")
    if nova_manage("db", "online_data_migrations")[0] != 0:
        print("some data cannot move yet; the next run goes on")


if __name__ == "__main__":
    main()
