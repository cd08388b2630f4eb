"""Charts of repositories on the network: each pulled once, in parallel to the work of its callers.

A repository may hang, and other releases must continue, so a pull runs in its own thread and its caller waits
only for a limited time. A failing repository is not asked for a growing time, for all of its charts together.
A missing or damaged chart has its own pause.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from controller.adapters.charts.cache import ChartCache
from controller.adapters.charts.repository_access import PULL_SECONDS, Access, Proxy, RepositoryClient
from controller.adapters.charts.repository_http import fetch_archive, fetch_index
from controller.adapters.charts.repository_index import Index
from controller.adapters.charts.repository_oci import fetch_oci, list_oci
from controller.adapters.charts.versions import choose_version
from controller.domain.api.conditions import timestamp
from controller.domain.releases.bundle import ChartRef
from controller.domain.shared.backoff import Pauses
from controller.errors import (
    ChartInvalid,
    ChartPending,
    ControllerError,
    RepositoryDenied,
    RepositoryUnavailable,
    RepositoryUntrusted,
    SecretMissing,
)
from controller.ports.system import Clock, Randomness

#: The text under a key of a Secret in the region's namespace, None when there is none.
ReadSecret = Callable[[str, str], str | None]

# How long one answer about Secrets and proxy is reused: a pass at 500 releases asks for it 500 times.
ACCESS_SECONDS = 5.0
# One index serves the charts that are pulled together.
INDEX_SECONDS = 60.0
AT_A_TIME = 4
# A thread that hangs in a server's answer is abandoned. No further one starts while this many hang.
MOST_HANGING = 8
SOON = 1.0
# Between tries of a repository that does not answer, or not with what it should.
PULL_PAUSES = Pauses(5.0, 300.0)
_MOST_REMEMBERED = 1000
_OF_REPOSITORY = (RepositoryUnavailable, RepositoryUntrusted, RepositoryDenied)


@dataclass(frozen=True)
class _Rest:
    """Why and until when (monotonic seconds) there is no further attempt."""

    error: ChartInvalid
    until: float
    failures: int


@dataclass
class _Pull:
    """One pull, running or ended."""

    chart: ChartRef
    began: float
    done: threading.Event = field(default_factory=threading.Event)
    error: ControllerError | None = None


@dataclass
class _Repository:
    """The state of one repository with certain credentials."""

    access: Access
    checked: float
    rest: _Rest | None = None
    charts: dict[ChartRef, _Rest] = field(default_factory=dict)
    pulls: dict[ChartRef, _Pull] = field(default_factory=dict)
    hanging: int = 0
    slow: bool = False
    index: Index | None = None
    index_read: float = 0.0


class PulledCharts:
    """Archives of charts in `https://`, `http://` and `oci://` repositories.

    `pull_seconds`: how long one pull may take. `wait_seconds`: seconds that a caller waits for it before
    ChartPending is raised, by default as long. `learn` gets the secrets that no log may show.
    """

    def __init__(
        self,
        cache: ChartCache,
        clock: Clock,
        randomness: Randomness,
        *,
        read_secret: ReadSecret,
        read_proxy: Callable[[], Proxy] = Proxy.of_environment,
        learn: Callable[[list[str]], None] = lambda _: None,
        pull_seconds: float = PULL_SECONDS,
        wait_seconds: float | None = None,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._randomness = randomness
        self._read_secret = read_secret
        self._read_proxy = read_proxy
        self._learn = learn
        self._pull_seconds = pull_seconds
        self._wait_seconds = pull_seconds if wait_seconds is None else wait_seconds
        self._repositories: dict[tuple[str, str, str], _Repository] = {}
        self._missing: dict[tuple[str, str, str], tuple[float, SecretMissing]] = {}
        self._lock = threading.Lock()

    def archive(self, chart: ChartRef) -> Path:
        """The chart's archive in the cache, pulled if it is not there.

        Raises the errors of ChartInvalid's family, with `retry_after`, and SecretMissing.
        """
        found = self._cache.find(chart)
        if found is not None:
            return found
        repository = self._repository(chart)
        pull, wait_seconds = self._pull(repository, chart)
        if not pull.done.wait(wait_seconds):
            with self._lock:
                repository.slow = True
                rest = repository.rest
            if rest is not None:
                raise _again(rest, SOON)
            raise ChartPending(
                f'chart "{chart.name}" {chart.version} is being pulled from {chart.repository}', SOON
            )
        if pull.error is not None:
            raise pull.error
        found = self._cache.find(chart)
        if found is None:
            raise ChartPending(
                f'chart "{chart.name}" is gone from the cache again: the controller pulls it again', SOON
            )
        return found

    def versions(self, chart: ChartRef) -> tuple[str, ...]:
        """The versions of the chart that its repository lists, in its order. The caller waits for them."""
        repository = self._repository(chart)
        with RepositoryClient(f"repository {chart.repository}", repository.access) as client:
            if chart.repository.startswith("oci://"):
                return list_oci(chart.name, chart.repository, client)
            listed = self._index(repository, chart, client).get(chart.name, ())
            return tuple(entry.version for entry in listed)

    def _pull(self, repository: _Repository, chart: ChartRef) -> tuple[_Pull, float]:
        """The pull to wait for, started if necessary, and for how long.

        Raises the reason if it cannot start.
        """
        with self._lock:
            self._give_up(repository)
            now = self._clock.monotonic()
            rest = repository.rest or repository.charts.get(chart)
            pull = repository.pulls.get(chart)
            if pull is None:
                if rest is not None and now < rest.until:
                    raise _again(rest, rest.until - now)
                if rest is not None and repository.rest is rest and repository.pulls:
                    # One pull tries whether the repository is back; the others wait for it.
                    raise _again(rest, SOON)
                if len(repository.pulls) >= AT_A_TIME or repository.hanging >= MOST_HANGING:
                    raise ChartPending(f'chart "{chart.name}" waits for other pulls to end', SOON)
                pull = _Pull(chart, now)
                repository.pulls[chart] = pull
                threading.Thread(
                    target=self._run, args=(repository, pull), name=f"pull: {chart.name}", daemon=True
                ).start()
            return pull, 0.0 if repository.slow else self._wait_seconds

    def _run(self, repository: _Repository, pull: _Pull) -> None:
        try:
            self._fetch(repository, pull.chart)
        except ControllerError as error:
            pull.error = error
        except BaseException as error:
            pull.error = ChartInvalid(f'chart "{pull.chart.name}": internal error ({type(error).__name__})')
            raise
        finally:
            with self._lock:
                self._ended(repository, pull)
            pull.done.set()

    def _fetch(self, repository: _Repository, chart: ChartRef) -> None:
        with self._cache.locked(chart, self._pull_seconds):
            if self._cache.find(chart) is not None:
                return  # by another process, meanwhile
            with RepositoryClient(
                f"repository {chart.repository}", repository.access, seconds=self._pull_seconds
            ) as client:
                if chart.repository.startswith("oci://"):
                    content = fetch_oci(chart.name, chart.version, chart.repository, client)
                else:
                    index = self._index(repository, chart, client)
                    content = fetch_archive(chart.name, chart.version, chart.repository, index, client)
            self._cache.store(chart, content)

    def _index(self, repository: _Repository, chart: ChartRef, client: RepositoryClient) -> Index:
        now = self._clock.monotonic()
        with self._lock:
            index, age = repository.index, now - repository.index_read
        # A new index may have versions that an old one lacks.
        stale = index is None or age > INDEX_SECONDS
        listed = (entry.version for entry in (index or {}).get(chart.name, ()))
        if index is None or stale or choose_version(chart.version, listed) is None:
            index = fetch_index(chart.repository, client)
            with self._lock:
                repository.index, repository.index_read = index, now
        return index

    def _ended(self, repository: _Repository, pull: _Pull) -> None:
        if repository.pulls.get(pull.chart) is not pull:
            repository.hanging -= 1  # it had been given up
            return
        del repository.pulls[pull.chart]
        if pull.error is None:
            repository.rest, repository.slow = None, False
            repository.charts.pop(pull.chart, None)
            return
        self._note_failure(repository, pull, pull.error)

    def _note_failure(self, repository: _Repository, pull: _Pull, error: ControllerError) -> None:
        if isinstance(error, ChartPending) or not isinstance(error, ChartInvalid):
            return
        whole = isinstance(error, _OF_REPOSITORY)
        before = repository.rest if whole else repository.charts.get(pull.chart)
        now = self._clock.monotonic()
        if before is not None and now < before.until:
            pull.error = before.error  # several failed together: that counts once
            return
        failures = before.failures + 1 if before else 1
        wait = max(PULL_PAUSES.after(failures, self._randomness.jitter()), error.retry_after or 0.0)
        again = timestamp(self._clock.now() + wait)
        reported = type(error)(f"{error}; tried again at {again}", wait)
        rest = _Rest(reported, now + wait, failures)
        pull.error = reported
        if whole:
            repository.rest = rest
            return
        repository.rest, repository.slow = None, False
        if len(repository.charts) >= _MOST_REMEMBERED:
            repository.charts.clear()
        repository.charts[pull.chart] = rest

    def _give_up(self, repository: _Repository) -> None:
        """A server may hold a thread without end, octet by octet. Nothing waits for such a thread."""
        now = self._clock.monotonic()
        for chart, pull in list(repository.pulls.items()):
            if now - pull.began > 2 * self._pull_seconds:
                pull.error = RepositoryUnavailable(f"repository {chart.repository} does not end its answer")
                self._note_failure(repository, pull, pull.error)
                del repository.pulls[chart]
                repository.hanging += 1
                pull.done.set()

    def _repository(self, chart: ChartRef) -> _Repository:
        key = (chart.repository, chart.credentials_secret, chart.ca_secret)
        now = self._clock.monotonic()
        with self._lock:
            known = self._repositories.get(key)
        if known is not None and now - known.checked < ACCESS_SECONDS:
            return known
        looked, missing = self._missing.get(key, (0.0, None))
        if missing is not None and now - looked < ACCESS_SECONDS:
            raise missing.with_traceback(None)
        try:
            access = self._access(chart)
        except SecretMissing as error:
            self._missing = {key: (now, error)}
            raise
        with self._lock:
            current = self._repositories.get(key)
            if current is None or _fingerprint(current.access) != _fingerprint(access):
                # With other credentials or another CA, failed pulls are tried again at once.
                if len(self._repositories) >= _MOST_REMEMBERED:
                    self._repositories.clear()
                current = self._repositories[key] = _Repository(access, now)
            current.checked = now
            return current

    def _access(self, chart: ChartRef) -> Access:
        username = password = ca = ""
        if chart.credentials_secret:
            username = self._secret(chart.credentials_secret, "username")
            password = self._secret(chart.credentials_secret, "password")
            self._learn([password])
        if chart.ca_secret:
            ca = self._secret(chart.ca_secret, "ca.crt")
        proxy = self._read_proxy()
        return Access(username, password, ca, chart.credentials_secret, chart.ca_secret, proxy)

    def _secret(self, name: str, key: str) -> str:
        found = self._read_secret(name, key)
        if not found:
            raise SecretMissing(name, key)
        return found


def _again(rest: _Rest, seconds: float) -> ChartInvalid:
    return type(rest.error)(str(rest.error), seconds)


def _fingerprint(access: Access) -> str:
    proxy = access.proxy
    parts = (access.username, access.password, access.ca, proxy.http, proxy.https, *proxy.no_proxy)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
