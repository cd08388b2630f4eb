"""What remains different from running releases once a region is fitted: values of the operator, and Secrets.

The values of a template may depend on those of other releases. So the region is rendered again with what was
found, until nothing differs that can be set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from controller.cli.adopting.fitting import Fitting
from controller.cli.adopting.running import RunningRelease
from controller.cli.adopting.written_options import written_text
from controller.cli.offline.region import OfflineRegion
from controller.domain.adoption.differences import Difference, differences
from controller.domain.adoption.overrides import Overrides
from controller.domain.adoption.search import with_field
from controller.domain.api.spec_rules.values import PASSWORD_IN_CLEAR
from controller.domain.credentials.adoption import AdoptedSecret, NewRelease, plan_adoption
from controller.domain.values.chart_values import (
    DocumentPath,
    Path,
    Values,
    coalesced,
    format_path,
    is_secret_ref,
    lookup,
    parse_path,
    secret_ref,
    with_leaf,
)
from controller.domain.values.option_files import as_option_value, from_option_value, is_written_as_it_is
from controller.domain.values.secret_refs import find_references
from controller.domain.values.value_provenance import CHART_DEFAULTS
from controller.domain.values.values_diff import ABSENT, value_text
from controller.errors import Problem, SpecInvalid

_ROUNDS = 12
_UNFIT_FOR_KEYS = re.compile(r"[^-._a-zA-Z0-9]+")
# Charts make this one at random, where no value sets it.
_AT_RANDOM = "memcache_secret_key"


@dataclass(frozen=True)
class Kept:
    """A value of a running release that the region cannot have, and why."""

    release: str
    path: str
    why: str


@dataclass(frozen=True)
class Leftovers:
    """The region with the operator's values, its Secrets, and what cannot be as it runs.

    `secrets` are those of the operator's values, with their texts; `credentials` are the controller's own.
    `notes` has the reason of each value by its path in the spec, `counts` their number by release.
    """

    spec: Mapping[str, Any]
    region: OfflineRegion
    notes: Mapping[Path, str]
    counts: Mapping[str, int]
    kept: tuple[Kept, ...]
    credentials: tuple[AdoptedSecret, ...]
    secrets: Mapping[str, Mapping[str, str]] = field(repr=False)

    def text(self, name: str, key: str) -> str | None:
        """The text of a key of a Secret; None where the controller is to generate it."""
        return dict(_texts(self.credentials, self.secrets)).get((name, key))


@dataclass
class LeftoverSearch:
    """One search. `spec` is what was fitted."""

    fitting: Fitting
    spec: Mapping[str, Any]
    _overrides: dict[str, Overrides] = field(default_factory=dict)
    _secrets: dict[str, dict[str, str]] = field(default_factory=dict)
    _kept: dict[tuple[str, Path], str] = field(default_factory=dict)

    def find(self) -> Leftovers:
        """Raises SpecInvalid where the region is refused for more than the values of releases."""
        base = region = self.fitting.render(self.spec)
        for _ in range(_ROUNDS):
            planned = self._credentials(region)
            texts = dict(_texts(planned, self._secrets))
            found = {name: self._differing(region, name, texts) for name in self._common(region)}
            if not any(found.values()):
                break
            for name, differing in found.items():
                self._add(base, name, differing)
            region = self._rendered()
        owned = self._owners(base)
        return Leftovers(
            spec=self._whole(),
            region=region,
            notes=dict(self._notes(base, owned)),
            counts={name: sum(1 for _ in _said(one.values)) for name, one in self._overrides.items()},
            kept=tuple(Kept(name, format_path(path), why) for (name, path), why in self._kept.items()),
            credentials=self._credentials(region),
            secrets=self._secrets,
        )

    @property
    def _running(self) -> Mapping[str, RunningRelease]:
        return self.fitting.running.releases

    @cached_property
    def _theirs(self) -> dict[str, Values]:
        """All values of the running releases, with what their charts have made at random."""
        return {name: _with_random(one) for name, one in self._running.items()}

    def _common(self, region: OfflineRegion) -> list[str]:
        return [name for name in self._running if region.region.release(name) is not None]

    def _credentials(self, region: OfflineRegion) -> tuple[AdoptedSecret, ...]:
        releases = [
            NewRelease(one.spec.name, bundle.service, find_references(one.spec.values), one.merged.defaults)
            for bundle in region.region.bundles
            for one in bundle.releases
        ]
        files = self.fitting.renderer.library.names.files
        return plan_adoption(region.region.credentials, releases, self._theirs, files)

    def _differing(
        self, region: OfflineRegion, name: str, texts: Mapping[tuple[str, str], str]
    ) -> list[Difference]:
        release = region.region.release(name)
        assert release is not None  # noqa: S101 - of `_common`
        stands_for = partial(self._stands_for, name, texts)
        found = differences(release.merged.values, self._theirs[name], stands_for=stands_for)
        return [one for one in found if not self._stays(name, one.path)]

    def _stands_for(
        self,
        release: str,
        texts: Mapping[tuple[str, str], str],
        path: DocumentPath,
        target: Mapping[str, str],
        theirs: Any,
    ) -> bool:
        if "prefix" in target:
            return bool(theirs == target["prefix"])
        text = texts.get((target["name"], target["key"]))
        if not text:
            # The controller generates it. What a chart makes at random is as good.
            return theirs is ABSENT and path[-1] == _AT_RANDOM
        files = self.fitting.renderer.library.names.files.with_chart(release)
        return bool((as_option_value(text) if files.has(path) else text) == str(theirs))

    def _stays(self, release: str, path: Path) -> bool:
        return any(
            name == release and (path[: len(kept)] == kept or kept[: len(path)] == path)
            for name, kept in self._kept
        )

    def _add(self, base: OfflineRegion, name: str, found: Iterable[Difference]) -> None:
        release = base.region.release(name)
        ours = release.merged.values if release is not None else {}
        given = []
        for one in found:
            if is_secret_ref(one.ours) and "prefix" not in _target(one.ours) and one.theirs is not ABSENT:
                given.append(Difference(one.path, ABSENT, self._reference(name, one.path, one.theirs)))
            else:
                given.append(Difference(one.path, lookup(ours, one.path, ABSENT), one.theirs))
        self._overrides.setdefault(name, Overrides()).add(given)

    def _reference(self, release: str, path: DocumentPath, theirs: Any) -> dict[str, Any]:
        """A reference to a Secret that gets this text."""
        files, text = self.fitting.renderer.library.names.files.with_chart(release), str(theirs)
        if files.has(path) and not is_written_as_it_is(path):
            text = from_option_value(text)
        name = f"adopted-{release}"
        key = _UNFIT_FOR_KEYS.sub("-", ".".join(map(str, path)))[:253]
        self._secrets.setdefault(name, {})[key] = text
        return secret_ref(name, key)

    def _whole(self) -> dict[str, Any]:
        """The fitted spec with the values found so far."""
        spec = dict(self.spec)
        for name, one in self._overrides.items():
            service, group = self._places[name]
            if one.cleared:
                spec = with_field(spec, ("common", group, "releases", name, "values"), one.cleared)
            if one.values:
                spec = with_field(spec, ("services", service, name, "values"), one.values)
        return spec

    @cached_property
    def _places(self) -> dict[str, tuple[str, str]]:
        """The service and the group of each chart."""
        services = self.fitting.renderer.library.catalogue.services
        return {chart: (name, entry.group) for name, entry in services.items() for chart in entry.charts}

    def _rendered(self) -> OfflineRegion:
        """The region with what was found; what is refused of it is left out or becomes a Secret."""
        for _ in range(_ROUNDS):
            try:
                return self.fitting.render(self._whole())
            except SpecInvalid as error:
                if not [one for one in error.problems if self._mend(one)]:
                    raise
        return self.fitting.render(self._whole())

    def _mend(self, problem: Problem) -> bool:
        """Whether anything was changed for the problem."""
        release, path = self._place(problem.path)
        if not release or not path:
            return False
        keys = tuple(key for key in path if isinstance(key, str))
        if problem.rule == PASSWORD_IN_CLEAR.id:
            text = lookup(self._theirs.get(release, {}), path)
            if isinstance(text, str | int) and not isinstance(text, bool):
                return self._hide(release, path, text)
        dropped = self._overrides.get(release, Overrides()).drop(keys)
        if dropped:
            self._kept[release, keys] = problem.message
        return dropped

    def _place(self, text: str) -> tuple[str, DocumentPath]:
        """The release of a problem, and the path in its values."""
        release, colon, rest = text.partition(": ")
        try:
            path = parse_path(rest if colon else text)
        except ValueError:
            return "", ()
        if colon:
            return release, path
        inside = path[:2] == ("spec", "services") and path[4:5] == ("values",)
        return (str(path[3]), path[5:]) if inside else ("", ())

    def _hide(self, release: str, path: DocumentPath, text: str | int) -> bool:
        """Puts the text at this path into a Secret, also one within a list."""
        values = self._overrides.setdefault(release, Overrides()).values
        reference = self._reference(release, path, text)
        if lookup(values, path) is not None:
            self._overrides[release].values = with_leaf(values, path, reference)
            return True
        keys = tuple(key for key in path if isinstance(key, str))
        if keys != path:
            return False
        self._overrides[release].add([Difference(keys, ABSENT, reference)])
        return True

    def _owners(self, base: OfflineRegion) -> dict[str, tuple[Path, ...]]:
        return {
            name: tuple(path for path, _ in _said(one.values))
            for name, one in self._overrides.items()
            if base.region.release(name) is not None
        }

    def _notes(self, base: OfflineRegion, owned: Mapping[str, Iterable[Path]]) -> Iterator[tuple[Path, str]]:
        for name, paths in owned.items():
            release = base.region.release(name)
            assert release is not None  # noqa: S101 - of `_owners`
            service, _ = self._places[name]
            for path in paths:
                ours = lookup(release.merged.values, path)
                below = release.merged.history.layer_of(path)
                layer = below.name if below is not None else CHART_DEFAULTS
                note = f"{layer}: {value_text(ours)}" if ours is not None else "the controller sets nothing"
                yield ("spec", "services", service, name, "values", *path), note


def _said(values: Values, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What the operator's values say, deletions and references as a whole."""
    for key, value in values.items():
        here = (*path, key)
        if isinstance(value, Mapping) and value and not any(str(mark).startswith("$") for mark in value):
            yield from _said(value, here)
        else:
            yield here, value


def _target(reference: Mapping[str, Any]) -> Mapping[str, str]:
    [target] = reference.values()
    return dict(target)


def _texts(
    credentials: Iterable[AdoptedSecret], secrets: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[tuple[str, str], str]]:
    for one in credentials:
        yield from (((one.name, key), text) for key, text in one.data.items())
    for name, texts in secrets.items():
        yield from (((name, key), text) for key, text in texts.items())


def _with_random(release: RunningRelease) -> Values:
    place = ("endpoints", "oslo_cache", "auth", _AT_RANDOM)
    if release.manifest is None or lookup(release.values, place) not in (None, ""):
        return release.values
    text = written_text(release.manifest, _AT_RANDOM)
    made = {"endpoints": {"oslo_cache": {"auth": {_AT_RANDOM: text}}}}
    return coalesced(release.values, made) if text else release.values
