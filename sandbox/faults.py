"""What may happen to a request on its way to an API server, on purpose and repeatably."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

_WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# Asked by POST, nothing is stored.
_QUESTIONS = ("tokenreviews", "accessreviews", "rulesreviews", "subjectreviews")


@dataclass(frozen=True)
class ProxiedRequest:
    """One request as it came in; `number` counts all of them from 1. `target`: path and query."""

    number: int
    method: str
    target: str
    agent: str = ""

    @property
    def path(self) -> str:
        """The path alone, which names the object."""
        return self.target.partition("?")[0]

    @property
    def watches(self) -> bool:
        """Whether the answer goes on until someone ends it."""
        query = parse_qs(urlsplit(self.target).query)
        return query.get("watch", [""])[0] in {"true", "1"}

    @property
    def writes(self) -> bool:
        """Whether it changes what is stored; dry runs and mere questions do not."""
        kind = self.path.rpartition("/")[2]
        return (
            self.method in _WRITING
            and "dryRun=" not in self.target
            and not any(kind.endswith(question) for question in _QUESTIONS)
        )

    @property
    def leases(self) -> bool:
        """Whether it is about a Lease: those come by the clock, not by the work that is done."""
        return "/leases" in self.path

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class Delay:
    """The request goes on after so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Refuse:
    """The API server is not asked: this status is the answer, with Retry-After where it is set."""

    status: int
    retry_after: int | None = None


@dataclass(frozen=True)
class CutBefore:
    """The connection breaks before the API server has seen the request."""


@dataclass(frozen=True)
class CutAfter:
    """The API server has done what was asked; the connection breaks before the answer arrives."""


@dataclass(frozen=True)
class Silence:
    """Nothing comes back for so many seconds; then the connection breaks. The request is lost."""

    seconds: float


@dataclass(frozen=True)
class CutStream:
    """A watch that ends after so many seconds, in the middle of an event if it so happens."""

    seconds: float


Fault = Delay | Refuse | CutBefore | CutAfter | Silence | CutStream
Choose = Callable[[ProxiedRequest], Fault | None]


def pass_on(_: ProxiedRequest) -> Fault | None:
    """No fault at all."""
    return None


def is_write_of_work(request: ProxiedRequest) -> bool:
    """A write that belongs to what is being done: every write but the renewals of Leases."""
    return request.writes and not request.leases


class FaultsInTurn:
    """Each kind of fault once, in turn, at every so-many-th request; from then on none.

    So a run meets all of them, and has an end. `left` are the kinds that have not come yet, of requests
    and of watches. `spare` are left alone.
    """

    def __init__(self, every: int, spare: Callable[[ProxiedRequest], bool] = lambda _: False) -> None:
        self._every, self._spare, self._passed = every, spare, 0
        self._requests: list[Fault] = [
            *(CutAfter(), Refuse(503), Silence(2), CutBefore()),
            *(Delay(1), Refuse(500), Refuse(429, 1)),
        ]
        self._watches: list[Fault] = [CutStream(1), Refuse(429, 1)]

    @property
    def left(self) -> tuple[Fault, ...]:
        """Those that no request has met yet."""
        return (*self._requests, *self._watches)

    def __call__(self, request: ProxiedRequest) -> Fault | None:
        if self._spare(request):
            return None
        if request.watches:
            return self._watches.pop(0) if self._watches else None
        self._passed += 1
        if self._passed % self._every or not self._requests:
            return None
        return self._requests.pop(0)


class RandomFaults:
    """One request in so many meets a fault; which one, and which fault, is drawn from `seed`.

    The same requests in the same order meet the same faults. `share` of requests in [0, 1] that meet
    one; `spare` are left alone.
    """

    def __init__(
        self, seed: int, share: float = 0.1, spare: Callable[[ProxiedRequest], bool] = lambda _: False
    ) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self._share = share
        self._spare = spare

    def __call__(self, request: ProxiedRequest) -> Fault | None:
        hit, kind, amount = self._chance.random(), self._chance.random(), self._chance.random()
        if hit >= self._share or self._spare(request):
            return None
        if request.watches:
            return CutStream(amount * 3) if kind < 0.7 else Refuse(429, 1)
        faults: tuple[Fault, ...] = (
            Delay(amount),
            Refuse(429, 1),
            Refuse(500),
            Refuse(503),
            CutBefore(),
            CutAfter(),
            CutAfter(),
            Silence(amount * 4),
        )
        return faults[int(kind * len(faults))]
