"""Finds our objects in files, also those with a typo in apiVersion or kind."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from controller.cli.offline.input_files import InputObject
from controller.domain.api.names import API_VERSION, GROUP
from controller.domain.values.suggestion import suggestion
from controller.errors import Problem
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, HELMBUNDLE, OSDPL, RESTORE, SERVER

KINDS = {one.kind: one for one in (OSDPL, HELMBUNDLE, COMPUTE_MAINTENANCE, SERVER, RESTORE)}
# Kinds that only the definition validates.
_SELF_CONTAINED = (COMPUTE_MAINTENANCE.kind, SERVER.kind, RESTORE.kind)
_NEAR = 0.8


def is_region(item: InputObject) -> bool:
    """Whether the object is an OpenStackDeployment of ours."""
    return item.kind == OSDPL.kind and item.obj.get("apiVersion") == API_VERSION


def is_bundle(item: InputObject) -> bool:
    """Whether the object is a HelmBundle of ours."""
    return item.kind == HELMBUNDLE.kind and item.obj.get("apiVersion") == API_VERSION


def is_self_contained(item: InputObject) -> bool:
    """Whether the object is a ComputeMaintenance, an OpenStackServer or a RegionRestore of ours."""
    return item.kind in _SELF_CONTAINED and item.obj.get("apiVersion") == API_VERSION


def misnamed(item: InputObject) -> list[Problem]:
    """The problem in the apiVersion or kind of an object that should be ours: one with our API group, or with
    our kind and a similar group. An object of another product may have the same kind.
    """
    version = str(item.obj.get("apiVersion"))
    group = version.partition("/")[0]
    ours = group == GROUP
    meant = item.kind in KINDS and bool(difflib.get_close_matches(group, [GROUP], n=1, cutoff=_NEAR))
    problems = []
    if version != API_VERSION and (ours or meant):
        text = f'this API has no version "{version}"'
        problems.append(Problem("apiVersion", text, f'did you mean "{API_VERSION}"?'))
    if ours and item.kind not in KINDS:
        problems.append(Problem("kind", f'{GROUP} has no kind "{item.kind}"', suggestion(item.kind, KINDS)))
    return item.locate_all(problems)


def all_misnamed(items: Iterable[InputObject]) -> list[Problem]:
    """The same of several objects."""
    return [problem for item in items for problem in misnamed(item)]
