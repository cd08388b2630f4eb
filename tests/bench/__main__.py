"""`make bench`: every figure beside a named baseline that is measured in the same run."""

from __future__ import annotations

import importlib
import pkgutil

import tests.bench


def main() -> None:
    """Runs `figures()` of every module of this package and prints its lines."""
    for module in sorted(pkgutil.iter_modules(tests.bench.__path__), key=lambda found: found.name):
        if module.name.startswith("bench_"):
            print(f"== {module.name.removeprefix('bench_')}")
            for line in importlib.import_module(f"tests.bench.{module.name}").figures():
                print(f"  {line}")


if __name__ == "__main__":
    main()
