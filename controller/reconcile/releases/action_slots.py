"""A bounded number of long Helm actions at a time, at most one for any release.

An action that only waits for a Job of its hooks does no work, but may wait for what another release has
yet to bring: it gives its place to another action meanwhile. Each that waits holds a thread, a chart and
values, so beyond a number of them the others follow one at a time. They are never refused for good: one of
them may be what all the others wait for.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterable
from itertools import islice

from controller.domain.api.keys import BundleKey, ReleaseKey
from controller.domain.shared import metrics
from controller.errors import ControllerError
from controller.ports.metrics import Metrics, NoMetrics
from controller.reconcile.releases.action_request import ActionOutcome, RunningAction

log = logging.getLogger(__name__)


# Waiting actions beside as many working ones as may be, where nothing else is said.
WAITERS = 56


class ActionSlots:
    """Runs actions on threads of their own and remembers how each release's last one ended.

    `size` actions work at a time while no more than `waiters` others wait for their hooks, else one.
    """

    def __init__(self, size: int, measures: Metrics | None = None, *, waiters: int = WAITERS) -> None:
        self._size = size
        self._most = size + waiters
        self._measures = measures or NoMetrics()
        self._lock = threading.Lock()
        self._running: dict[ReleaseKey, RunningAction] = {}
        self._waiting: set[ReleaseKey] = set()
        # In the order in which they were refused.
        self._refused: dict[BundleKey, None] = {}
        self._outcomes: dict[ReleaseKey, ActionOutcome] = {}
        # By thread, and for longer than a slot is held: until the news of the end is out too.
        self._under_way: dict[object, str] = {}
        self._closed = False

    def close(self) -> None:
        """No more actions are started; those under way go on."""
        with self._lock:
            self._closed = True

    @property
    def closed(self) -> bool:
        """Whether no more actions are started, and so what was refused has no turn to wait for."""
        with self._lock:
            return self._closed

    def under_way(self) -> list[str]:
        """What may still write, in words: every action until `finished` of it has returned."""
        with self._lock:
            return list(self._under_way.values())

    def busy(self) -> dict[ReleaseKey, RunningAction]:
        """The actions under way at this moment."""
        with self._lock:
            return dict(self._running)

    def bundles(self) -> set[BundleKey]:
        """The bundles that an action is under way for."""
        with self._lock:
            return {(key[0], running.request.bundle) for key, running in self._running.items()}

    def outcome(self, key: ReleaseKey) -> ActionOutcome | None:
        """How the last action of this process on the release ended."""
        with self._lock:
            return self._outcomes.get(key)

    def forget(self, key: ReleaseKey) -> None:
        """The release is gone, and with it the memory of its failures."""
        with self._lock:
            self._outcomes.pop(key, None)

    def note_waiting(self, key: ReleaseKey, waiting: bool) -> Iterable[BundleKey]:
        """Says whether an action only waits for its hooks now; gives the bundles that may start one then."""
        with self._lock:
            if key not in self._running or waiting == (key in self._waiting):
                return ()
            if not waiting:
                # The action continues immediately, even if its place is taken: nothing could stop it.
                self._waiting.discard(key)
                return ()
            self._waiting.add(key)
            return self._pop_refused()

    def next_refused(self) -> Iterable[BundleKey]:
        """The bundles whose turn it is, as many as there are free slots; the longest refused first.

        To be asked whenever a slot may have become free, and after each pass at a bundle: one that was
        given its turn may have had no use for it.
        """
        with self._lock:
            return self._pop_refused()

    def _pop_refused(self) -> list[BundleKey]:
        chosen = list(islice(self._refused, max(self._free(), 0)))
        for bundle in chosen:
            del self._refused[bundle]
        return chosen

    def _free(self) -> int:
        working = len(self._running) - len(self._waiting)
        remaining = self._most - len(self._running)
        if remaining <= 0:
            return 0 if working else 1
        return min(self._size - working, remaining)

    def start(
        self,
        running: RunningAction,
        work: Callable[[], ActionOutcome],
        *,
        crashed: Callable[[Exception], ActionOutcome],
        finished: Callable[[], None],
    ) -> bool:
        """Starts the work unless all slots are taken, the release has one or no more is to be started; says
        whether it did.

        `crashed` turns an unexpected error into an outcome, so that it backs off like any other. `finished`
        is called on the work's thread once the outcome can be read.

        Raises ControllerError when no thread can be had: nothing would tell when there is one again.
        """
        key, action = running.request.key, running.request.action
        with self._lock:
            if self._closed or key in self._running:
                # Its end has this bundle looked at.
                return False
            if self._free() <= 0:
                self._refused[(key[0], running.request.bundle)] = None
                return False
            self._running[key] = running
            thread = object()
            self._under_way[thread] = f"{action} of release {key[1]}"

        def run() -> None:
            try:
                self._run(key, action, work, crashed)
                finished()
            finally:
                with self._lock:
                    del self._under_way[thread]

        # Daemon threads: a Helm action must not keep a container alive that has waited long enough for it.
        # What it leaves half done is found in Helm's records by the next one.
        try:
            self._begin(run, f"helm {action} {key[1]}")
        except RuntimeError as error:
            # A slot without work must be free.
            with self._lock:
                del self._running[key], self._under_way[thread]
            raise ControllerError(f"{action} of release {key[1]} cannot begin: {error}") from error
        return True

    def _begin(self, work: Callable[[], None], name: str) -> None:
        """Raises RuntimeError where no thread can be had."""
        threading.Thread(target=work, name=name, daemon=True).start()

    def _run(
        self,
        key: ReleaseKey,
        action: str,
        work: Callable[[], ActionOutcome],
        crashed: Callable[[Exception], ActionOutcome],
    ) -> None:
        """Does the work on this thread, notes how it ended and frees the slot."""
        try:
            outcome = work()
        # Any error: a thread has no caller to raise to, and the slot is freed whatever happened.
        except Exception as error:  # noqa: BLE001
            # The stack without the error's text, which may hold what a library was given.
            stack = "".join(traceback.format_tb(error.__traceback__))
            reason = type(error).__name__
            extra = {"object": f"{key[0]}/{key[1]}", "release": key[1], "reason": reason}
            log.error("%s of release %s: %s\n%s", action, key[1], reason, stack, extra=extra)
            outcome = crashed(error)
        with self._lock:
            before = self._outcomes.get(key)
            self._outcomes[key] = outcome
            del self._running[key]
            self._waiting.discard(key)
        self._measure(key[1], action, outcome, repeated=bool(before and before.attempt.error))

    def _measure(self, release: str, action: str, outcome: ActionOutcome, *, repeated: bool) -> None:
        result = "error" if outcome.attempt.error else "success"
        self._measures.observe(
            metrics.HELM_DURATION, outcome.attempt.duration, release=release, action=action, result=result
        )
        if repeated:
            self._measures.count(metrics.HELM_RETRIES, release=release)
