"""Golden conversions: what each edit of a source changes in its mirror, in tests/golden/machines.

`python -m tests.domain.machines.conversions` writes them again; then read the diff.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from controller.domain.machines.machine_set import Converted, convert_machine_set
from controller.domain.values.chart_values import DocumentPath, format_path
from tests.domain.machines.sources import CLUSTER, machine_set

GOLDEN = Path(__file__).parents[2] / "golden" / "machines" / "conversions.yaml"
ABSENT = "(absent)"


@dataclass(frozen=True)
class Case:
    """`of` names it; `golden` is its whole entry."""

    of: str
    golden: dict[str, Any]

    def converted(self) -> Converted:
        addresses = tuple(self.golden.get("virtualAddresses") or ())
        source = machine_set(**self.golden["source"])
        return convert_machine_set(source, replace(CLUSTER, virtual_addresses=addresses))


def cases() -> list[Case]:
    return [Case(one["of"], one) for one in yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))]


def told(case: Case) -> dict[str, Any]:
    """What the case changes in the mirror of the plain source, and the warnings."""
    plain, converted = convert_machine_set(machine_set(), CLUSTER), case.converted()
    assert converted.errors == ()
    found = {
        "machineSet": dict(_differences(plain.machine_set, converted.machine_set, ())),
        "template": dict(_differences(plain.template, converted.template, ())),
        "warnings": [str(warning) for warning in converted.warnings],
    }
    return {key: value for key, value in found.items() if value}


def _differences(before: Any, after: Any, path: DocumentPath) -> Iterator[tuple[str, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from _differences(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif before != after:
        yield format_path(path), after


def main() -> None:
    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    kept = ("of", "virtualAddresses", "source")
    written = [
        {**{key: case.golden[key] for key in kept if key in case.golden}, **told(case)} for case in cases()
    ]
    texts = [
        yaml.dump([one], Dumper=Dumper, sort_keys=False, width=150, allow_unicode=True) for one in written
    ]
    GOLDEN.write_text("\n".join(texts), encoding="utf-8")


if __name__ == "__main__":
    main()
