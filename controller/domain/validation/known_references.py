"""References that are not mistakes: to objects of Jobs, unused ones, or those that an operator creates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from controller.domain.validation.awaited import PODS, WAITED
from controller.domain.validation.dangling import (
    CONFIGMAP,
    IMAGE,
    SECRET,
    SERVED_KEYS,
    VOLUME,
    Reference,
)
from controller.errors import Problem

_MOST_NAMED = 4


@dataclass(frozen=True)
class KnownReferences:
    """`settled` are made by Jobs, or read by nothing; `brought` has the command that makes an object.

    Names are `Kind/name`, in `settled` also `Kind/name/key`.
    """

    settled: frozenset[str]
    brought: Mapping[str, str]

    def with_ways(self, ways: Mapping[str, str]) -> KnownReferences:
        """These, and commands for further objects, by `Kind/name`; `{namespace}` is the region's."""
        return replace(self, brought={**self.brought, **ways})

    def _is_settled(self, one: Reference) -> bool:
        names = {_place(one)} | ({f"{_place(one)}/{one.key}"} if one.key else set())
        return bool(self.settled & names)

    def remaining(self, found: Iterable[Reference]) -> list[Reference]:
        """Those that are not settled."""
        return [one for one in found if not self._is_settled(one)]

    def problems(
        self,
        found: Mapping[str, Collection[Reference]],
        namespace: str,
        there: Collection[tuple[str, str]] = (),
    ) -> list[Problem]:
        """One for each object that is missing, with the releases that need it and the way to make it.

        `found` is by release; of what is `there`, by kind and name, it is keys that are missing. What a pod
        lacks in itself, a volume or an image, comes first.
        """
        lacking: dict[tuple[str, str], dict[str, list[Reference]]] = {}
        for release, missing in found.items():
            for one in self.remaining(missing):
                lacking.setdefault((one.kind, one.name), {}).setdefault(release, []).append(one)
        ordered = sorted(lacking.items(), key=lambda item: (item[0][0] not in (VOLUME, IMAGE), item[0]))
        return [self._problem(needed, namespace, place in there) for place, needed in ordered]

    def _problem(self, needed: Mapping[str, list[Reference]], namespace: str, there: bool) -> Problem:
        one = next(iter(needed.values()))[0]
        by = ", ".join(list(needed)[:_MOST_NAMED])
        if one.kind in (VOLUME, IMAGE):
            remedy = "correct the chart's values or the chart"
            return Problem("spec", f"{one.by} of {by} has no {one.kind} {one.name}", remedy)
        keys = sorted({each.key for found in needed.values() for each in found if each.key})
        verb = "needs" if len(needed) == 1 else "need"
        more = f" and {len(needed) - _MOST_NAMED} more" if len(needed) > _MOST_NAMED else ""
        if there:
            text = f"{one.kind} {one.name} has no {'key' if len(keys) == 1 else 'keys'} {', '.join(keys)}"
            return Problem(
                "spec", f"{text}, and {by}{more} {verb} it", "add the key, or correct the reference"
            )
        with_keys = f" (keys {', '.join(keys)})" if keys else ""
        text = f"{one.kind} {one.name}{with_keys} is not created by a release, but {by}{more} {verb} it"
        if one.kind in WAITED:
            what = f"{one.kind} {one.name} {'are' if one.kind == PODS else 'is'} not created by a release"
            text = f"{what}, and {by}{more} {verb.replace('need', 'wait')} for it: {one.by} stays in Init"
            remedy = (
                "correct manifests, endpoints or dependencies in the values, or create the missing object"
            )
            return Problem("spec", text, remedy)
        way = self.brought.get(_place(one)) or _way(one.kind, one.name, keys)
        remedy = f"create it: {way.replace('{namespace}', namespace)}" if way else _UNKNOWN_WAY
        return Problem("spec", text, remedy)


_UNKNOWN_WAY = "create it before you apply the region, or correct its name in the values"


def _place(one: Reference) -> str:
    return f"{one.kind}/{one.name}"


def _way(kind: str, name: str, keys: Sequence[str]) -> str:
    """A command of kubectl for objects whose content is the operator's; empty for others."""
    if kind == SECRET and tuple(keys) == SERVED_KEYS:
        return f"kubectl -n {{namespace}} create secret tls {name} --cert=tls.crt --key=tls.key"
    command = {SECRET: "secret generic", CONFIGMAP: "configmap"}.get(kind)
    files = "".join(f" --from-file={key}" for key in keys) or " --from-file=KEY"
    made = f"kubectl -n {{namespace}} create {command} {name}{files}" if command else ""
    # Editors end a file with a newline, which would be a part of a password.
    return f"{made} (write files without a newline at the end: printf %s)" if kind == SECRET else made
