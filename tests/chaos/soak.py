"""`make soak`: random edits, kills and faults for a while, and then a check that nothing is out of place.

    python -m tests.chaos.soak --minutes 30 --seed 1

All is drawn from the seed; what comes at which moment also depends on the machine. At the end the faults
cease, and what is in the cluster is compared with what a fresh computation says: Helm's rendering of each
release, the digest of its chart and values, its records, every object, every claim. Nothing else may be left
of any kind that releases make. The container's memory stays below a bound, and does not grow.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.cluster import Sandbox
from sandbox.etcd_copies import restore_etcd, save_etcd
from sandbox.faults import RandomFaults, pass_on
from sandbox.take_down import take_down
from tests.chaos.end_state import EndState, everything
from tests.chaos.random_bundles import BUNDLES, RandomBundles
from tests.chaos.world import CONTAINER, World, chaos, wait_for

# Seconds. The pause between failures grows to five minutes; edits end it, and the end edits what failed.
PATIENCE = 600.0
QUIET = 15.0
# Octets of resident memory that the container may take, and by how much it may grow once it has settled.
MOST_MEMORY = 250_000_000
GROWTH = 25_000_000


@dataclass
class Soak:
    """One run."""

    world: World
    chance: random.Random
    desired: RandomBundles
    done: Counter[str] = field(default_factory=Counter)
    most_memory: int = 0
    copied: bool = False
    claims: dict[str, str] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def run(self, seconds: float) -> None:
        began = last = time.monotonic()
        while time.monotonic() - began < seconds:
            self._step()
            self._look_at_claims()
            self.most_memory = max(self.most_memory, self.world.controllers.rss(CONTAINER))
            if time.monotonic() - last > 30:
                last = time.monotonic()
                self._tell(f"{last - began:.0f} s: {self.summary()}")
            self._rest(self.chance.expovariate(1 / 1.5))

    def settle(self) -> None:
        """No faults any more, nothing that must fail; until all is Ready."""
        self.world.proxy.choose = pass_on
        self.world.proxy.resume()
        self.desired.make_well()
        # Twice: what is going may need that others no longer need it, and comes back once it is gone.
        self._write()
        wait_for("what goes is gone", self._nothing_goes, PATIENCE, self.world.show)
        self._write()
        for name in BUNDLES:
            if name in self.desired.bundles:
                self.world.wait_ready(name, timeout=PATIENCE)
            else:
                self.world.wait_gone(name, timeout=PATIENCE)

    def stays_quiet(self) -> list[str]:
        """What is written although nothing is left to do."""
        before = len(self.world.proxy.requests)
        due = time.monotonic() + QUIET
        wait_for("it stays quiet", lambda: time.monotonic() >= due, QUIET + 5, str)
        later = self.world.proxy.requests[before:]
        return [f"written without need: {one}" for one in later if one.writes and not one.leases]

    def grew(self) -> list[str]:
        """What says that the container takes more memory than it should, at any time or ever more."""
        reported = []
        if self.most_memory > MOST_MEMORY:
            reported.append(f"{self.most_memory / 1e6:.0f} MB of memory, more than {MOST_MEMORY / 1e6:.0f}")
        self.world.kill()
        self._edits(10)
        begun = self.world.controllers.rss(CONTAINER)
        self._edits(30)
        now = self.world.controllers.rss(CONTAINER)
        self._tell(f"memory without kills: {begun / 1e6:.0f} MB after 10 edits, {now / 1e6:.0f} MB after 40")
        if now > begun + GROWTH:
            reported.append(
                f"memory grew from {begun / 1e6:.0f} to {now / 1e6:.0f} MB in 30 edits without kills"
            )
        return reported

    def _edits(self, count: int) -> None:
        """So many edits of one value, each of which is waited for."""
        if not self.desired.bundles:
            self.desired.change()
        name, bundle = next(iter(self.desired.bundles.items()))
        release = next(iter(bundle.values()))
        for _ in range(count):
            release.colour = "red" if release.colour == "blue" else "blue"
            self._write()
            self.world.wait_ready(name, timeout=PATIENCE)

    def summary(self) -> str:
        done = ", ".join(f"{count} {what}" for what, count in sorted(self.done.items()))
        return (
            f"{len(self.world.proxy.requests)} requests; {done}; most memory {self.most_memory / 1e6:.0f} MB"
        )

    def _step(self) -> None:
        drawn = self.chance.random()
        if drawn < 0.62:
            name, what = self.desired.change()
            self._write()
            self._note("edits", f"{name}: {what}")
        elif drawn < 0.8:
            self._kill()
        elif drawn < 0.92:
            share = self.chance.choice((0.0, 0.0, 0.03, 0.08, 0.15))
            seed = self.chance.randrange(10**6)
            self.world.proxy.choose = RandomFaults(seed, share) if share else pass_on
            self._note("weathers", f"{share:.0%} of requests meet a fault")
        elif drawn < 0.95:
            self.world.proxy.break_connections()
            self._note("cuts", "every connection broke")
        elif drawn < 0.985:
            self._note("outages", "the API server is killed")
            self.world.region.sandbox.kill_component("apiserver")
            self._rest(self.chance.uniform(0, 4))
            self.world.region.sandbox.start_component("apiserver", timeout=180)
        else:
            self._travel()

    def _kill(self) -> None:
        stop = self.world.proxy.stop_at(self.chance.randint(1, 12), after=self.chance.random() < 0.5)
        if stop.wait(self.chance.uniform(0.1, 4)):
            where = f"{'after' if stop.after else 'before'} {stop.request}"
        else:
            where = "wherever it was"
        self.world.kill()
        self._note("kills", where)

    def _travel(self) -> None:
        """Back to a copy of etcd's state, after which everyone asks again for what they want."""
        box = self.world.region.sandbox
        if not self.copied:
            save_etcd(box, "soak")
            self.copied = True
            self._note("copies", "of etcd's state")
            return
        restore_etcd(box, "soak")
        self.copied = False
        self.claims = {}
        self._write()
        self._note("restores", "of etcd's state")

    def _write(self) -> None:
        """All that is desired; what goes last, for others may have needed it."""
        for name, bundle in self.desired.bundles.items():
            # One that is still going must be gone first: Kubernetes lets no one change its mind.
            if self._is_going(name):
                continue
            self.world.apply_releases([release.spec() for release in bundle.values()], name)
        for name in BUNDLES:
            if name not in self.desired.bundles:
                self.world.delete(name)

    def _look_at_claims(self) -> None:
        """A claim stays, and stays the same, whatever becomes of its release."""
        there = self.world.claim_uids()
        for name, uid in self.claims.items():
            if there.get(name) != uid:
                self.lost.append(f"claim {name} was lost: {uid}, now {there.get(name)}")
        self.claims = there

    def _is_going(self, name: str) -> bool:
        obj = self.world.bundle(name)
        return obj is not None and "deletionTimestamp" in obj["metadata"]

    def _nothing_goes(self) -> bool:
        self.world.revive()
        return not any(self._is_going(name) for name in BUNDLES)

    def _rest(self, seconds: float) -> None:
        due = time.monotonic() + seconds
        while time.monotonic() < due:
            self.world.revive()
            time.sleep(0.1)

    def _note(self, what: str, more: str) -> None:
        self.done[what] += 1
        self._tell(f"  {what}: {more}")

    def _tell(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Random edits, kills and faults, checked at the end.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.minutes:g} minutes", flush=True)
    name = f"soak-{given.seed}-{secrets.token_hex(2)}"
    with tempfile.TemporaryDirectory(prefix="soak-") as directory:
        place = Path(directory)
        box = Sandbox.up(name, place / name, private=True, timeout=180)
        try:
            box.create_namespace("soak", {})
            with chaos(box, "soak", place / "world", {"RESYNC_SECONDS": "20"}) as world:
                return soak(world, given.seed, given.minutes)
        finally:
            take_down(name, place / name)


def soak(world: World, seed: int, minutes: float) -> int:
    chance = random.Random(seed)
    run = Soak(world, chance, RandomBundles(chance))
    before = everything(world)
    try:
        run.run(minutes * 60)
        run.settle()
        wrong = run.lost + EndState(world, run.desired, before).wrong() + run.stays_quiet() + run.grew()
    except AssertionError as error:
        print(f"{error}\nseed {seed}: {run.summary()}", flush=True)
        return 1
    for line in wrong:
        print(f"WRONG: {line}", flush=True)
    print(f"seed {seed}: {run.summary()}; {len(wrong)} things out of place", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
