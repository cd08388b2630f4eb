"""What stores do not work without, as values/stores.yaml has it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.values.chart_values import Path

# Options of which one is enough.
Options = tuple[str, ...]


@dataclass(frozen=True)
class StoreKind:
    """Stores of a release of a service, and what they need by the beginning of the name of their driver.

    `stores` is the list of their names, or `name:driver`; without it there is one store, whose options are in
    `sections`. `where` has to be on, if it is there. `features` is their field of spec.features."""

    service: str
    release: str
    where: Path
    stores: Path
    sections: tuple[Path, ...]
    shared: Path
    features: Path
    driver: str
    always: tuple[Options, ...]
    drivers: Mapping[str, tuple[Options, ...]]

    def needs(self, driver: str) -> tuple[Options, ...]:
        """What a store with this driver needs."""
        of_driver = (needed for start, needed in self.drivers.items() if driver.startswith(start))
        return (*self.always, *(option for needed in of_driver for option in needed))


def parse_stores(document: Iterable[Mapping[str, Any]]) -> tuple[StoreKind, ...]:
    """Of a document that matches values/stores.schema.yaml."""
    return tuple(
        StoreKind(
            service=one["service"],
            release=one["release"],
            where=_path(one.get("where")),
            stores=_path(one.get("stores")),
            sections=tuple(map(_path, one.get("sections") or [one["section"]])),
            shared=_path(one.get("shared")),
            features=_path(one.get("features")),
            driver=one.get("driver", ""),
            always=_options(one.get("always", ())),
            drivers={start: _options(needed) for start, needed in one["drivers"].items()},
        )
        for one in document
    )


def _options(given: Iterable[str]) -> tuple[Options, ...]:
    return tuple(tuple(option.split("|")) for option in given)


def _path(text: str | None) -> Path:
    return tuple(text.split(".")) if text else ()
