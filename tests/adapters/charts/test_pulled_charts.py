"""Charts of repositories on the network: what is pulled, how often, what is refused and what is said."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.charts import pull as pulled_charts
from controller.adapters.charts import repository_http
from controller.adapters.charts.cache import ChartCache
from controller.adapters.charts.pull import ACCESS_SECONDS, PulledCharts
from controller.adapters.charts.repository_access import Access, Proxy, RepositoryClient
from controller.adapters.charts.source import ChartStore
from controller.domain.releases.bundle import ChartRef
from controller.errors import (
    ChartInvalid,
    ChartNotFound,
    ChartPending,
    ChartUntrusted,
    RepositoryDenied,
    RepositoryUnavailable,
    RepositoryUntrusted,
    SecretMissing,
)
from sandbox.patience import patient
from tests.chart_repositories.certificates import authority
from tests.chart_repositories.packing import small_chart
from tests.chart_repositories.servers import (
    PASSWORD,
    USERNAME,
    Answer,
    Request,
    Response,
    Server,
    archives,
    http_repository,
    oci_registry,
    serve,
)
from tests.fakes.world import FakeClock, FakeRandomness

# Seconds of TLS: each test has a server of its own.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
CHARTS = {("web", "0.1.0"): small_chart(), ("web", "0.2.0+abc"): small_chart(version="0.2.0+abc")}
LOGIN = {"username": USERNAME, "password": PASSWORD}


@dataclass
class Bench:
    """A cache, a clock, Secrets, and a store that pulls with them."""

    directory: Path
    clock: FakeClock = field(default_factory=FakeClock)
    secrets: dict[str, Mapping[str, str]] = field(default_factory=dict)
    learned: list[str] = field(default_factory=list)
    patience: float = 60.0
    pull_seconds: float = 120.0
    proxy: Proxy = field(default_factory=Proxy)

    def __post_init__(self) -> None:
        self.secrets |= {"ca": {"ca.crt": authority().ca}, "login": LOGIN}
        self.store = self.new_store()

    def new_store(self) -> ChartStore:
        """As a restarted container has it: the same cache, nothing in memory."""
        pulled = PulledCharts(
            ChartCache(self.directory / "cache"),
            self.clock,
            FakeRandomness(),
            read_secret=lambda name, key: self.secrets.get(name, {}).get(key),
            read_proxy=lambda: self.proxy,
            learn=self.learned.extend,
            wait_seconds=self.patience,
            pull_seconds=self.pull_seconds,
        )
        return ChartStore(self.directory / "none", pulled=pulled)

    def kept(self) -> list[str]:
        """Archives in the cache, and what is half written."""
        files = (self.directory / "cache").rglob("*")
        return sorted(path.name for path in files if path.suffix in (".tgz", ".part"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def web(server: Server, version: str = "0.1.0", *, name: str = "web", **more: str) -> ChartRef:
    more.setdefault("ca_secret", "ca")
    return ChartRef(name, version, repository=server.address, **more)


def oci(server: Server, version: str = "0.1.0", **more: str) -> ChartRef:
    return replace(web(server, version, **more), repository=f"oci://{server.host}/charts")


def failing(store: ChartStore, chart: ChartRef, kind: type[ChartInvalid] = ChartInvalid) -> ChartInvalid:
    with pytest.raises(kind) as caught:
        store.digest(chart)
    assert PASSWORD not in str(caught.value)
    return caught.value


KINDS: dict[str, tuple[Answer, str, dict[str, str]]] = {
    "http": (http_repository(archives(CHARTS)), "", {"ca_secret": ""}),
    "https": (http_repository(archives(CHARTS)), "test", {}),
    "https with credentials": (
        http_repository(archives(CHARTS), login=True),
        "test",
        {"credentials_secret": "login"},
    ),
    "oci": (oci_registry(CHARTS), "test", {}),
    "oci without TLS": (oci_registry(CHARTS), "", {"ca_secret": ""}),
    "oci with credentials": (oci_registry(CHARTS, login="basic"), "test", {"credentials_secret": "login"}),
    "oci with a token": (oci_registry(CHARTS, login="bearer"), "test", {"credentials_secret": "login"}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ["0.1.0", "0.2.0+abc"])
def test_a_chart_is_pulled_from_every_kind_of_repository(bench: Bench, kind: str, version: str) -> None:
    answer, tls, secrets = KINDS[kind]
    (bench.directory / f"web-{version}.tgz").write_bytes(CHARTS["web", version])
    local = ChartRef("web", version, repository=f"file://{bench.directory}")
    with serve(answer, tls=tls) as server:
        chart = (oci if kind.startswith("oci") else web)(server, version, **secrets)
        assert bench.store.defaults(chart) == {"size": 1}
        # The same files are the same chart, wherever they come from.
        assert bench.store.digest(chart) == bench.store.digest(local)


def test_a_chart_is_pulled_once_and_serves_without_its_repository(bench: Bench) -> None:
    with serve(http_repository(archives(CHARTS))) as server:
        chart = web(server)
        digest = bench.store.digest(chart)
        assert bench.store.digest(chart) == digest
        assert server.paths() == ["/index.yaml", "/web-0.1.0.tgz"]
    bench.secrets.clear()
    assert bench.new_store().digest(chart) == digest
    assert Path(bench.new_store().locate(chart)).read_bytes() == CHARTS["web", "0.1.0"]


def test_charts_that_are_pulled_together_share_one_index(bench: Bench) -> None:
    with serve(http_repository(archives(CHARTS))) as server:
        for version in ("0.1.0", "0.2.0+abc"):
            bench.store.digest(web(server, version))
        assert server.paths().count("/index.yaml") == 1


def test_a_version_that_was_published_since_is_found(bench: Bench) -> None:
    files = archives({("web", "0.1.0"): CHARTS["web", "0.1.0"]})
    with serve(http_repository(files)) as server:
        bench.store.digest(web(server))
        files.update(archives(CHARTS))
        assert bench.store.digest(web(server, "0.2.0+abc"))


@pytest.mark.parametrize("make", [web, oci])
@pytest.mark.parametrize("ca", ["", "other"])
def test_a_certificate_of_another_authority_is_refused(bench: Bench, make: Any, ca: str) -> None:
    bench.secrets["other"] = {"ca.crt": authority("other").ca}
    answer = oci_registry(CHARTS) if make is oci else http_repository(archives(CHARTS))
    with serve(answer) as server:
        error = failing(bench.store, make(server, ca_secret=ca), RepositoryUntrusted)
        assert server.requests == []
    assert ('Secret "other"' if ca else "caSecret") in str(error)
    assert "not trusted" in str(error)


def test_a_ca_that_is_no_certificate_is_reported(bench: Bench) -> None:
    bench.secrets["ca"] = {"ca.crt": "planted-text"}
    with serve(http_repository({})) as server:
        error = failing(bench.store, web(server), RepositoryUntrusted)
    assert "ca.crt" in str(error)
    assert "planted-text" not in str(error)


@pytest.mark.parametrize("login", ["https", "basic", "bearer"])
@pytest.mark.parametrize("secret", ["", "wrong"])
def test_wrong_credentials_are_reported_without_showing_them(bench: Bench, login: str, secret: str) -> None:
    bench.secrets["wrong"] = {"username": USERNAME, "password": "planted-wrong-word"}
    https = login == "https"
    answer = http_repository(archives(CHARTS), login=True) if https else oci_registry(CHARTS, login=login)
    with serve(answer) as server:
        chart = (web if https else oci)(server, credentials_secret=secret)
        error = failing(bench.store, chart, RepositoryDenied)
    assert ('"wrong"' if secret else "credentialsSecret") in str(error)
    assert "planted-wrong-word" not in str(error)


def test_the_password_is_made_known_to_the_log(bench: Bench) -> None:
    with serve(http_repository(archives(CHARTS), login=True)) as server:
        bench.store.digest(web(server, credentials_secret="login"))
    assert bench.learned == [PASSWORD]


@pytest.mark.parametrize(("field_", "key"), [("credentials_secret", "username"), ("ca_secret", "ca.crt")])
def test_a_secret_that_is_missing_is_named(bench: Bench, field_: str, key: str) -> None:
    with serve(http_repository({})) as server:
        chart = web(server, **{field_: "absent"})
        with pytest.raises(SecretMissing, match="absent") as caught:
            bench.store.digest(chart)
    assert caught.value.key == key


def test_corrected_credentials_are_tried_without_waiting_for_the_pause_to_end(bench: Bench) -> None:
    bench.secrets["login"] = {**LOGIN, "password": "wrong"}
    with serve(http_repository(archives(CHARTS), login=True)) as server:
        chart = web(server, credentials_secret="login")
        failing(bench.store, chart, RepositoryDenied)
        bench.secrets["login"] = LOGIN
        bench.clock.advance(ACCESS_SECONDS)
        assert bench.store.digest(chart)


def tampered_registry() -> Answer:
    registry = oci_registry(CHARTS)

    def answer(request: Request) -> Response:
        found = registry(request)
        return replace(found, body=found.body[::-1]) if "/blobs/" in request.path else found

    return answer


@pytest.mark.parametrize("kind", ["https", "oci"])
def test_content_that_differs_from_its_digest_is_refused(bench: Bench, kind: str) -> None:
    tampered = {**archives(CHARTS), "/web-0.1.0.tgz": small_chart(values="size: 2\n")}
    with serve(http_repository(tampered) if kind == "https" else tampered_registry()) as server:
        error = failing(bench.store, (web if kind == "https" else oci)(server), ChartUntrusted)
    assert "instead of" in str(error)
    assert bench.kept() == []


@pytest.mark.parametrize("make", [web, oci])
def test_a_missing_version_is_reported_with_those_that_there_are(bench: Bench, make: Any) -> None:
    answer = oci_registry(CHARTS) if make is oci else http_repository(archives(CHARTS))
    with serve(answer) as server:
        error = failing(bench.store, make(server, "9.9.9"), ChartNotFound)
    assert "9.9.9" in str(error)
    assert "0.1.0" in str(error) and "0.2.0+abc" in str(error)


@pytest.mark.parametrize("kind", ["https", "oci", "file"])
def test_a_version_stands_for_its_only_build(bench: Bench, kind: str) -> None:
    """OpenStack-Helm's `2026.1.0` is published as `2026.1.0+<commit>`."""
    charts = {("web", "2026.1.0+abc"): small_chart(version="2026.1.0+abc"), **CHARTS}
    (bench.directory / "web-2026.1.0+abc.tgz").write_bytes(charts["web", "2026.1.0+abc"])
    answer = oci_registry(charts) if kind == "oci" else http_repository(archives(charts))
    with serve(answer) as server:
        local = ChartRef("web", "2026.1.0", repository=f"file://{bench.directory}")
        chart = {"https": web, "oci": oci}[kind](server, "2026.1.0") if kind != "file" else local
        assert bench.store.defaults(chart) == {"size": 1}


@pytest.mark.parametrize("make", [web, oci])
def test_of_several_builds_one_has_to_be_named(bench: Bench, make: Any) -> None:
    builds = ("2026.1.0+abc", "2026.1.0+def")
    charts = {("web", build): small_chart(version=build) for build in builds}
    answer = oci_registry(charts) if make is oci else http_repository(archives(charts))
    with serve(answer) as server:
        error = failing(bench.store, make(server, "2026.1.0"), ChartNotFound)
        assert all(build in str(error) for build in builds)
        assert bench.store.digest(make(server, "2026.1.0+def"))


def test_a_chart_that_is_not_there_is_reported(bench: Bench) -> None:
    with serve(http_repository(archives(CHARTS))) as server:
        error = failing(bench.store, replace(web(server), name="wep"), ChartNotFound)
    assert '"wep"' in str(error)


def test_an_address_that_is_no_repository_is_reported(bench: Bench) -> None:
    with serve(http_repository({})) as server:
        assert "index.yaml" in str(failing(bench.store, web(server), ChartNotFound))


@pytest.mark.parametrize("text", [b"<html>", b"- a\n", b"", b"\xff\xfe", b"entries: [", b"[" * 5000])
def test_an_index_that_is_none_is_reported(bench: Bench, text: bytes) -> None:
    with serve(http_repository({"/index.yaml": text})) as server:
        assert "index" in str(failing(bench.store, web(server)))


def test_another_chart_under_the_name_is_refused(bench: Bench) -> None:
    with serve(http_repository(archives({("web", "0.1.0"): small_chart("other")}))) as server:
        assert 'named "other"' in str(failing(bench.store, web(server)))


def test_a_repository_that_is_down_is_left_alone_for_a_while_that_grows(bench: Bench) -> None:
    with serve(lambda _: Response(503)) as server:
        chart = web(server)
        pauses = []
        for attempt in range(1, 5):
            error = failing(bench.store, chart, RepositoryUnavailable)
            assert error.retry_after is not None
            pauses.append(error.retry_after)
            for _ in range(3):
                assert str(failing(bench.store, chart, RepositoryUnavailable)) == str(error)
            assert len(server.requests) == attempt
            bench.clock.advance(error.retry_after)
        assert pauses == sorted(pauses) and pauses[-1] > 3 * pauses[0]
        server.answer = http_repository(archives(CHARTS))
        assert bench.store.digest(chart)


def test_all_charts_of_a_repository_that_is_down_share_one_try(bench: Bench) -> None:
    with serve(lambda _: Response(500)) as server:
        charts = [web(server, name=f"web{number}") for number in range(20)]
        for chart in charts:
            failing(bench.store, chart, RepositoryUnavailable)
        assert len(server.requests) == 1


def test_a_chart_that_is_missing_does_not_keep_others_from_being_pulled(bench: Bench) -> None:
    with serve(http_repository(archives(CHARTS))) as server:
        failing(bench.store, web(server, "9.9.9"), ChartNotFound)
        assert bench.store.digest(web(server))
        before = len(server.requests)
        failing(bench.store, web(server, "9.9.9"), ChartNotFound)
        assert len(server.requests) == before


def test_a_repository_that_asks_for_a_pause_gets_it(bench: Bench) -> None:
    with serve(lambda _: Response(429, headers={"retry-after": "90"})) as server:
        error = failing(bench.store, web(server), RepositoryUnavailable)
    assert error.retry_after == 90


@pytest.mark.parametrize("place", ["https://127.0.0.1:9", "oci://127.0.0.1:9/charts"])
def test_an_address_without_a_server_is_reported(bench: Bench, place: str) -> None:
    error = failing(bench.store, ChartRef("web", "0.1.0", repository=place), RepositoryUnavailable)
    assert "127.0.0.1:9" in str(error)
    assert "refused" in str(error)
    assert "tried again at 20" in str(error)


def test_a_repository_that_hangs_delays_no_other(tmp_path: Path) -> None:
    bench = Bench(tmp_path, patience=1.0)
    with serve(lambda _: Response(hang=True)) as server:
        began = time.monotonic()
        pulls = 50
        for number in range(pulls):
            error = failing(bench.store, web(server, name=f"web{number}"), ChartPending)
            assert error.retry_after is not None
        # Not each of them has waited.
        assert time.monotonic() - began < pulls * bench.patience / 2
        assert len(server.requests) <= pulled_charts.AT_A_TIME


def test_a_pull_takes_no_longer_than_the_setting_allows(tmp_path: Path) -> None:
    bench = Bench(tmp_path, pull_seconds=1.0)
    with serve(lambda _: Response(hang=True)) as server:
        began = time.monotonic()
        failing(bench.store, web(server), RepositoryUnavailable)
        assert 1.0 <= time.monotonic() - began < 15.0


def test_a_pull_that_takes_longer_is_there_at_a_later_look(tmp_path: Path) -> None:
    bench = Bench(tmp_path, patience=0.01)
    answer = http_repository(archives(CHARTS))
    go = threading.Event()

    def slowly(request: Request) -> Response:
        go.wait(patient(60))
        return answer(request)

    with serve(slowly) as server:
        failing(bench.store, web(server), ChartPending)
        go.set()
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                assert bench.store.digest(web(server))
                break
            except ChartPending:
                time.sleep(0.01)
        else:
            pytest.fail("never pulled")
        assert server.paths() == ["/index.yaml", "/web-0.1.0.tgz"]


def two_servers(stack: ExitStack, bench: Bench, *, redirect: bool) -> tuple[Server, Server]:
    """A repository with credentials, and another server that has its archives."""
    store = stack.enter_context(serve(http_repository(archives(CHARTS))))
    inner = http_repository(archives(CHARTS, base=f"{store.address}/"), login=True)

    def answer(request: Request) -> Response:
        if redirect and request.path != "/index.yaml":
            return Response(302, headers={"location": f"{store.address}{request.path}"})
        return inner(request)

    if redirect:
        inner = http_repository(archives(CHARTS), login=True)
    return stack.enter_context(serve(answer)), store


@pytest.mark.parametrize("redirect", [False, True])
def test_credentials_go_to_the_repository_only(bench: Bench, stack: ExitStack, redirect: bool) -> None:
    repository, store = two_servers(stack, bench, redirect=redirect)
    assert bench.store.digest(web(repository, credentials_secret="login"))
    assert store.paths() == ["/web-0.1.0.tgz"]
    assert "authorization" not in store.requests[0].headers


def test_a_registry_that_redirects_does_not_hand_on_its_credentials(bench: Bench, stack: ExitStack) -> None:
    other = stack.enter_context(serve(oci_registry(CHARTS, login="bearer")))
    redirecting = stack.enter_context(
        serve(lambda request: Response(307, headers={"location": f"{other.address}{request.path}"}))
    )
    failing(bench.store, oci(redirecting, credentials_secret="login"), RepositoryDenied)
    assert "/token" not in other.paths()


@pytest.mark.parametrize("how", ["index", "redirect"])
def test_nothing_is_taken_without_tls_from_a_repository_with_it(
    bench: Bench, stack: ExitStack, how: str
) -> None:
    plain = stack.enter_context(serve(http_repository(archives(CHARTS)), tls=""))
    files = archives(CHARTS, base=f"{plain.address}/" if how == "index" else "")

    def answer(request: Request) -> Response:
        if how == "redirect" and request.path != "/index.yaml":
            return Response(301, headers={"location": f"{plain.address}{request.path}"})
        return http_repository(files)(request)

    server = stack.enter_context(serve(answer))
    failing(bench.store, web(server), RepositoryUnavailable)
    assert plain.requests == []


def test_redirects_in_a_circle_end(bench: Bench) -> None:
    with serve(lambda request: Response(302, headers={"location": request.path})) as server:
        assert "redirects" in str(failing(bench.store, web(server), RepositoryUnavailable))


def test_credentials_are_not_sent_in_clear_over_a_network() -> None:
    access = Access(USERNAME, PASSWORD, credentials_secret="login")
    with (
        RepositoryClient("repository", access) as client,
        pytest.raises(RepositoryDenied, match="without TLS") as caught,
    ):
        repository_http.fetch_index("http://charts.example", client)
    assert PASSWORD not in str(caught.value)


def test_the_proxy_of_the_region_is_used(bench: Bench) -> None:
    with serve(http_repository(archives(CHARTS)), tls="") as proxy:
        bench.proxy = Proxy(http=proxy.address)
        chart = ChartRef("web", "0.1.0", repository="http://charts.example")
        assert bench.store.digest(chart)
        assert proxy.requests[0].headers["host"] == "charts.example"


def test_hosts_without_proxy_are_reached_directly(bench: Bench) -> None:
    with serve(http_repository(archives(CHARTS))) as server:
        bench.proxy = Proxy(https="http://127.0.0.1:9", no_proxy=("127.0.0.1",))
        assert bench.store.digest(web(server))


@pytest.mark.parametrize(
    ("entry", "host", "direct"),
    [
        ("charts.example", "charts.example", True),
        ("example", "charts.example", True),
        (".example", "charts.example", True),
        ("*.example", "charts.example", True),
        ("arts.example", "charts.example", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("*", "charts.example", True),
        ("", "charts.example", False),
    ],
)
def test_no_proxy_means_names_domains_and_networks(entry: str, host: str, direct: bool) -> None:
    proxy = Proxy(https="http://proxy:3128", no_proxy=(entry,))
    assert proxy.for_url(f"https://{host}/index.yaml") == ("" if direct else "http://proxy:3128")


def test_half_a_download_is_never_taken_for_a_chart(bench: Bench) -> None:
    answer = http_repository(archives(CHARTS))

    def cut(request: Request) -> Response:
        return replace(answer(request), cut_after=100 if request.path.endswith(".tgz") else None)

    with serve(cut) as server:
        failing(bench.store, web(server), RepositoryUnavailable)
    assert bench.kept() == []


def test_an_archive_beyond_all_bounds_is_not_taken(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository_http, "LARGEST_ARCHIVE", 100)
    with serve(http_repository(archives(CHARTS))) as server:
        assert "larger" in str(failing(bench.store, web(server)))
    assert bench.kept() == []


def test_a_chart_damaged_on_disk_is_pulled_again(bench: Bench) -> None:
    with serve(http_repository(archives(CHARTS))) as server:
        chart = web(server)
        digest = bench.store.digest(chart)
        Path(bench.store.locate(chart)).write_bytes(b"damaged")
        assert bench.new_store().digest(chart) == digest
        assert server.paths().count("/web-0.1.0.tgz") == 2


def test_two_processes_pull_a_chart_once(tmp_path: Path) -> None:
    first, second = Bench(tmp_path), Bench(tmp_path)
    answer = http_repository(archives(CHARTS))

    def with_the_other_waiting(request: Request) -> Response:
        if request.path.endswith(".tgz"):
            second.store = waiting(second)
            failing(second.store, web(server), ChartPending)
        return answer(request)

    with serve(with_the_other_waiting) as server:
        first.store.digest(web(server))
        assert second.new_store().digest(web(server)) == first.store.digest(web(server))
        assert server.paths().count("/web-0.1.0.tgz") == 1


def waiting(bench: Bench) -> ChartStore:
    bench.patience = 0.3
    return bench.new_store()


PULL_AND_HANG = """
import sys
from pathlib import Path
from controller.adapters.charts.cache import ChartCache
from controller.adapters.system.clock import SystemClock
from controller.adapters.charts.pull import PulledCharts
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.releases.bundle import ChartRef
pulled = PulledCharts(
    ChartCache(Path(sys.argv[1])), SystemClock(), SystemRandomness(), read_secret=lambda *_: None
)
pulled.archive(ChartRef("web", "0.1.0", repository=sys.argv[2]))
"""


def test_a_process_killed_in_the_middle_of_a_pull_leaves_nothing_in_the_way(bench: Bench) -> None:
    answer = http_repository(archives(CHARTS))

    def hanging(request: Request) -> Response:
        return Response(hang=True) if request.path.endswith(".tgz") else answer(request)

    with serve(hanging, tls="") as server:
        command = [sys.executable, "-c", PULL_AND_HANG, str(bench.directory / "cache"), server.address]
        with subprocess.Popen(command, cwd=ROOT) as process:
            until = time.monotonic() + 120
            while not any(path.endswith(".tgz") for path in server.paths()):
                assert time.monotonic() < until and process.poll() is None
                time.sleep(0.01)
            process.kill()
        assert bench.kept() == []
        server.answer = answer
        assert bench.store.digest(web(server, ca_secret=""))


def serving(bench: Bench) -> AbstractContextManager[Server]:
    return serve(http_repository(archives(CHARTS)))


def test_a_cache_of_someone_else_is_not_used(bench: Bench) -> None:
    with serving(bench) as server:
        bench.store.digest(web(server))
        (bench.directory / "cache" / "v1").chmod(0o777)
        error = failing(bench.new_store(), web(server))
    assert "CHART_CACHE_DIR" in str(error)


def test_a_disk_that_refuses_is_reported(bench: Bench) -> None:
    (bench.directory / "cache").write_text("a file")
    with serving(bench) as server:
        assert "cannot be" in str(failing(bench.store, web(server)))
