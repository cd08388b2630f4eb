"""Which bundles wait for releases of others: at the end of an action these are reconciled, and no others."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from controller.domain.api.keys import BundleKey


class WaitingBundles:
    """Knows what each bundle waited for at its last pass. Safe from any thread.

    Having every bundle looked at whenever an action ends would be right too, and a thousand bundles with
    one release each would then be looked at a million times.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_pass: dict[BundleKey, int] = {}
        self._waits: dict[BundleKey, frozenset[str]] = {}

    @contextmanager
    def observe(self, bundle: BundleKey) -> Iterator[set[str]]:
        """For the time of one pass; the set that it yields takes the names of releases waited for.

        An action that ends while the pass goes on may be one that it waits for, and does not know yet.
        """
        found: set[str] = set()
        with self._lock:
            self._in_pass[bundle] = self._in_pass.get(bundle, 0) + 1
        try:
            yield found
        finally:
            with self._lock:
                self._in_pass[bundle] -= 1
                if not self._in_pass[bundle]:
                    del self._in_pass[bundle]
                if found:
                    self._waits[bundle] = frozenset(found)
                else:
                    self._waits.pop(bundle, None)

    def woken_by(self, namespace: str, release: str) -> Iterable[BundleKey]:
        """The bundles that the end of an action on the release concerns."""
        with self._lock:
            waiting = {key for key, names in self._waits.items() if release in names}
            return {key for key in waiting | self._in_pass.keys() if key[0] == namespace}
