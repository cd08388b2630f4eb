"""What a person may want next, drawn from a seed: bundles of releases that come, change and go."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

COLOURS = ("red", "blue", "green", "white", "black")
BUNDLES = ("alpha", "beta", "gamma")
MOST_RELEASES = 4
EVENTS = ("pre-install,pre-upgrade", "post-install,post-upgrade")
WELL = "succeeds"


def every_stateful_name() -> set[str]:
    """Every release that may ever have had a claim."""
    return {name for bundle in BUNDLES for name in _names(bundle) if _is_stateful(name)}


def _names(bundle: str) -> list[str]:
    return [f"{bundle}-{number}" for number in range(MOST_RELEASES + 2)]


def _is_stateful(name: str) -> bool:
    """The name decides what never changes: a claim that comes and goes would only hide its loss."""
    return name.endswith(("0", "2"))


@dataclass
class Release:
    """One release as it is wanted. `needs` are releases of earlier bundles or earlier in its own."""

    name: str
    colour: str
    hook: str
    outcome: str = WELL
    stateful: bool = False
    farewell: bool = False
    serves: bool = False
    suspended: bool = False
    needs: tuple[str, ...] = ()

    def spec(self) -> dict[str, Any]:
        values = {
            "colour": self.colour,
            "hook": self.hook,
            "outcome": self.outcome,
            "stateful": self.stateful,
            "farewell": self.farewell,
            # As upstream's: Helm itself would meet the Job of an uninstall that was cut short.
            "farewellPolicy": "hook-succeeded",
            "serves": self.serves,
        }
        return {
            "name": self.name,
            "chart": {"name": "worker", "path": "worker"},
            "values": values,
            "dependsOn": list(self.needs),
            "timeout": "60s",
            "suspend": self.suspended,
        }


@dataclass
class RandomBundles:
    """Every bundle that is wanted, by name. `change` draws the next edit and tells it in words."""

    chance: random.Random
    bundles: dict[str, dict[str, Release]] = field(default_factory=dict)

    def change(self) -> tuple[str, str]:
        """The name of the bundle that is edited, and what is done to it."""
        name = self.chance.choice(BUNDLES)
        bundle = self.bundles.get(name)
        if bundle is None:
            self.bundles[name] = {}
            for _ in range(self.chance.randint(1, 3)):
                self._add(name)
            return name, f"bundle with {', '.join(self.bundles[name])}"
        drawn = self.chance.random()
        if drawn < 0.08:
            del self.bundles[name]
            self._forget(set(bundle))
            return name, "deleted"
        if drawn < 0.2 and len(bundle) < MOST_RELEASES:
            return name, f"{self._add(name)} added"
        if drawn < 0.3 and len(bundle) > 1:
            gone = self.chance.choice(sorted(bundle))
            del bundle[gone]
            self._forget({gone})
            return name, f"{gone} removed"
        release = bundle[self.chance.choice(sorted(bundle))]
        if drawn < 0.42:
            release.outcome = self.chance.choice((WELL, "job-fails", "job-hangs"))
            return name, f"hook of {release.name} {release.outcome}"
        if drawn < 0.5:
            release.suspended = not release.suspended
            return name, f"{release.name} {'suspended' if release.suspended else 'resumed'}"
        release.colour = self.chance.choice([one for one in COLOURS if one != release.colour])
        return name, f"{release.name} {release.colour}"

    def make_well(self) -> None:
        """Nothing fails, hangs or is suspended any more."""
        for release in self.releases():
            release.outcome, release.suspended = WELL, False

    def releases(self) -> list[Release]:
        return [release for bundle in self.bundles.values() for release in bundle.values()]

    def _add(self, bundle: str) -> str:
        there = self.bundles[bundle]
        name = next(one for one in _names(bundle) if one not in there)
        earlier = [one.name for one in self.releases() if one.name < name]
        needs = tuple(sorted(self.chance.sample(earlier, min(len(earlier), self.chance.randint(0, 2)))))
        there[name] = Release(
            name=name,
            colour=self.chance.choice(COLOURS),
            hook=EVENTS[int(name[-1]) % 2],
            stateful=_is_stateful(name),
            farewell=name.endswith("1"),
            serves=name.endswith(("1", "2")),
            needs=needs,
        )
        return name

    def _forget(self, names: set[str]) -> None:
        """No one can go on depending on what is not wanted any more."""
        for release in self.releases():
            release.needs = tuple(need for need in release.needs if need not in names)
