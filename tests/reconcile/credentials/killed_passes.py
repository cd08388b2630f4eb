"""A controller that is killed at one of its steps, and begins again as a new process."""

from __future__ import annotations

import random

from tests.fakes.kube import Request
from tests.reconcile.credentials.rotation_bed import RotationBed
from tests.reconcile.credentials.test_secrets import Killed

WRITES = frozenset({"replace", "merge_patch", "patch", "apply"})


class KilledPasses:
    """Passes over a bed, killed before or `after` the `nth` of all their steps (0: at none of them).

    A step is a write to Kubernetes or, with `servers`, a change on a server; what the test itself does
    between two passes is none. `steps`: how many there have been.
    """

    def __init__(self, bed: RotationBed, nth: int, *, after: bool, servers: bool = True) -> None:
        self.steps = 0
        self._bed = bed
        self._nth = nth
        self._at_work = False
        if after:
            bed.kube.after_write = self._write
        else:
            bed.kube.before_write = self._write
        if servers and after:
            bed.servers.after_change = self._step
        elif servers:
            bed.servers.before_change = self._step

    def run(self) -> None:
        """One pass."""
        self._at_work = True
        try:
            self._bed.reconcile()
        except Killed:
            self._bed.restart()
        finally:
            self._at_work = False

    def settle(self, passes: int) -> None:
        """So many passes; after each one releases and pods take up what the Secrets say."""
        for _ in range(passes):
            self.run()
            self.follow()

    def follow(self) -> None:
        """Releases and pods take up what the Secrets say."""
        for one in self._bed.services:
            if self._bed.resolved(one) != self._bed.deployed(one):
                self._bed.upgrade(one)
            self._bed.replace_pods(one)
        self._bed.clock.advance(10)

    def _write(self, request: Request) -> None:
        if request.verb in WRITES:
            self._step()

    def _step(self) -> None:
        self.steps += self._at_work
        if self._at_work and self.steps == self._nth:
            raise Killed


def killed_by_chance(bed: RotationBed, chance: random.Random, *, servers: bool = False) -> None:
    """One pass, which may be killed before and after each of its steps; then it begins as a new process."""

    def strike(*_: Request) -> None:
        if chance.random() < 0.08:
            raise Killed

    bed.kube.before_write = bed.kube.after_write = strike
    if servers:
        bed.servers.before_change = bed.servers.after_change = strike
    try:
        bed.reconcile()
    except Killed:
        bed.restart()
    finally:
        bed.kube.before_write = bed.kube.after_write = lambda request: None
        bed.servers.before_change = bed.servers.after_change = lambda: None
