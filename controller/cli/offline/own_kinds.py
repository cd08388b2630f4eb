"""Which objects of files are ours, and which were meant to be: a slip in the head hides an object."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from controller.cli.offline.input_files import InputObject
from controller.domain.api.names import API_VERSION, GROUP
from controller.domain.values.typos import suggestion
from controller.errors import Problem
from controller.ports.kubernetes import HELMBUNDLE, NODE_MAINTENANCE, OSDPL, SERVER

KINDS = {one.kind: one for one in (OSDPL, HELMBUNDLE, NODE_MAINTENANCE, SERVER)}
# What its definition alone decides over.
_SELF_CONTAINED = (NODE_MAINTENANCE.kind, SERVER.kind)
_NEAR = 0.8


def is_region(item: InputObject) -> bool:
    """Whether the object is an OpenStackDeployment of ours."""
    return item.kind == OSDPL.kind and item.obj.get("apiVersion") == API_VERSION


def is_bundle(item: InputObject) -> bool:
    """Whether the object is a HelmBundle of ours."""
    return item.kind == HELMBUNDLE.kind and item.obj.get("apiVersion") == API_VERSION


def is_self_contained(item: InputObject) -> bool:
    """Whether the object is a NodeMaintenance or an OpenStackServer of ours."""
    return item.kind in _SELF_CONTAINED and item.obj.get("apiVersion") == API_VERSION


def misnamed(item: InputObject) -> list[Problem]:
    """What is wrong with the apiVersion or kind of an object that was meant to be ours.

    That is one of our API group, and one of a kind of ours whose group is nearly ours. An object of
    another product may well have the same kind.
    """
    version = str(item.obj.get("apiVersion"))
    group = version.partition("/")[0]
    ours = group == GROUP
    meant = item.kind in KINDS and bool(difflib.get_close_matches(group, [GROUP], n=1, cutoff=_NEAR))
    problems = []
    if version != API_VERSION and (ours or meant):
        text = f'no version "{version}" of our API'
        problems.append(Problem("apiVersion", text, f'did you mean "{API_VERSION}"?'))
    if ours and item.kind not in KINDS:
        problems.append(Problem("kind", f'{GROUP} has no kind "{item.kind}"', suggestion(item.kind, KINDS)))
    return item.locate_all(problems)


def all_misnamed(items: Iterable[InputObject]) -> list[Problem]:
    """The same of several objects."""
    return [problem for item in items for problem in misnamed(item)]
