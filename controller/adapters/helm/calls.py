"""Calls into Helm's library with a deadline: a call into Go that does not return cannot be taken back.

So each runs in a thread of its own, and the caller's thread waits for it as long as it may.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from controller.adapters.helm.cancellation import CancellationToken
from controller.errors import ApiUnavailable, ControllerError, HelmCancelled

T = TypeVar("T")

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Ended(Generic[T]):
    """How an action ended: with its outcome, and by whose doing (`cut` tells why, empty if by itself)."""

    outcome: Future[T]
    cut: str = ""


def read(what: str, call: Callable[[], T], timeout: float) -> T:
    """The call's result or error. Raises ApiUnavailable after `timeout` seconds; it changes nothing."""
    outcome = _begin(what, call)
    _wait(outcome, timeout)
    if not outcome.done():
        raise ApiUnavailable(f"Helm: {what}: no answer within {timeout:g} s")
    return outcome.result()


def act(
    what: str,
    call: Callable[[], T],
    timeout: float,
    *,
    token: CancellationToken | None,
    make_it_end: Callable[[], None],
    grace: float,
) -> Ended[T]:
    """Runs an action until it ends by itself, or is cancelled or overdue and then made to end.

    `make_it_end` is called again and again for `grace` seconds at most; its errors do not matter. The
    outcome of an action that did not end even so is not done.
    """
    if token is not None and token.cancelled:
        raise HelmCancelled(f"{what}: cancelled before it began")
    wake = threading.Event()
    outcome = _begin(what, call)
    outcome.add_done_callback(lambda _: wake.set())
    if token is not None:
        token.listen(wake.set)
    wake.wait(timeout)
    if token is not None:
        token.forget(wake.set)
    if outcome.done():
        return Ended(outcome)
    cut = token.cut if token is not None and token.cancelled else f"not done within {timeout:g} s"
    until = time.monotonic() + grace
    while not outcome.done() and time.monotonic() < until:
        with suppress(ControllerError):
            make_it_end()
        _wait(outcome, POLL_SECONDS)
    return Ended(outcome, cut)


def _begin(what: str, call: Callable[[], T]) -> Future[T]:
    outcome: Future[T] = Future()
    threading.Thread(target=_settle, args=(outcome, call), name=f"helm: {what}", daemon=True).start()
    return outcome


def _settle(outcome: Future[T], call: Callable[[], T]) -> None:
    try:
        outcome.set_result(call())
    except Exception as error:  # noqa: BLE001 - raised again in the thread that waits for it
        outcome.set_exception(error)


def _wait(outcome: Future[T], timeout: float) -> None:
    with suppress(TimeoutError):
        outcome.exception(timeout)
