"""Runs a command and prints its seconds and the megabytes that it held at most, as JSON.

A program of its own, run without any package: a process is charged with the memory of its parent until it
holds more, so the parent must be small. The command's own output is left out.
"""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    sink = os.open(os.devnull, os.O_WRONLY)
    started = time.perf_counter()
    child = os.posix_spawn(
        sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, sink, 1)]
    )
    _, status, usage = os.wait4(child, 0)
    print(json.dumps([time.perf_counter() - started, usage.ru_maxrss / 1024]))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
