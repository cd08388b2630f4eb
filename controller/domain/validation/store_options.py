"""Stores that lack what their driver does not work without (values/stores.yaml). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import features as rules
from controller.domain.values.chart_values import DocumentPath, Path, Values, format_path, lookup
from controller.domain.values.merge import MergedValues
from controller.domain.values.rules.stores import StoreKind
from controller.errors import Problem

_REMEDY = "set {them} there; a secret as {{$secretRef: {{name: <Secret>, key: <key>}}}}"


def unready_stores(kind: StoreKind, features: Mapping[str, Any], merged: MergedValues) -> Iterator[Problem]:
    """One for each store of this kind that lacks options in the final values of its release. What the chart
    has of its own is left alone."""
    values = merged.values
    if (kind.where and not lookup(values, kind.where)) or merged.history.layer_of(kind.stores) is None:
        return
    for name, listed in _stores(kind, values):
        places = (kind.shared, *_sections(kind, name))
        given = [lookup(values, place) for place in places if place]
        options = {key: value for one in given if isinstance(one, Mapping) for key, value in one.items()}
        driver = str(options.get(kind.driver) or "") if kind.driver else listed
        if lacking := _lacking(kind, driver, options):
            what = f'store "{name}"' if name else f"driver {driver}"
            of_driver = f" (driver {driver})" if name and driver else ""
            them = "it" if len(lacking) == 1 else "them"
            yield rules.STORE_OPTION_LACKING.at(
                _place(kind, features, values, name),
                store=what,
                of_driver=of_driver,
                lacking=", ".join(lacking),
                remedy=_REMEDY.format(them=them),
            )


def _lacking(kind: StoreKind, driver: str, options: Mapping[str, Any]) -> list[str]:
    """The options that a store needs and does not have; its driver alone where that is not known."""
    needed = kind.needs(driver) if driver else ((kind.driver,),)
    return [" or ".join(each) for each in needed if all(options.get(one) in (None, "") for one in each)]


def _stores(kind: StoreKind, values: Values) -> Iterator[tuple[str, str]]:
    """Names of stores and their drivers, where the list names those."""
    if not kind.stores:
        yield "", ""
        return
    listed = lookup(values, kind.stores)
    for one in listed.split(",") if isinstance(listed, str) else listed or ():
        name, _, driver = str(one).strip().partition(":")
        if name:
            yield name, driver.strip()


def _place(kind: StoreKind, features: Mapping[str, Any], values: Values, name: str) -> str:
    """The field of the spec where the options of a store belong."""
    described = lookup(features, kind.features) if kind.features else None
    path: DocumentPath = ("spec", "features", *kind.features)
    if not name and isinstance(described, Mapping) and described.get("enabled"):
        return format_path((*path, "conf"))
    for index, store in enumerate(described if isinstance(described, list | tuple) else ()):
        if store["name"] == name:
            return format_path((*path, index, "conf"))
    named = _sections(kind, name)
    section = next((one for one in named if lookup(values, one) is not None), named[-1])
    return format_path(("spec", "services", kind.service, kind.release, "values", *section))


def _sections(kind: StoreKind, name: str) -> list[Path]:
    """The sections that a store may have its options in."""
    return [(*section, name) if name else section for section in kind.sections]
