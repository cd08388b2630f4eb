"""`make bench`: every figure beside a named baseline that is measured in the same run.

With names, such as `python -m tests.bench render`, only those parts.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Collection

import tests.bench

PREFIX = "bench_"


def main(wanted: Collection[str]) -> None:
    """Runs `figures()` of modules of this package and prints its lines; of all without names."""
    found = sorted(module.name for module in pkgutil.iter_modules(tests.bench.__path__))
    names = [name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX)]
    if unknown := set(wanted) - set(names):
        sys.exit(f"no part {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    for name in names:
        if not wanted or name in wanted:
            print(f"== {name}")
            for line in importlib.import_module(f"tests.bench.{PREFIX}{name}").figures():
                print(f"  {line}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
