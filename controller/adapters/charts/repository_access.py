"""Access to a chart repository: TLS, credentials, proxies, and bounds on its answers."""

from __future__ import annotations

import ipaddress
import re
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import getproxies_environment

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
)

from controller.errors import (
    ChartInvalid,
    ChartNotFound,
    RepositoryDenied,
    RepositoryUnavailable,
    RepositoryUntrusted,
)

CONNECT_SECONDS = 5.0
# Between two pieces of an answer.
SILENCE_SECONDS = 20.0
# For all requests of one pull together, where no setting says otherwise.
PULL_SECONDS = 120.0
# Registries send blobs to a store behind them; Helm follows as many.
MOST_REDIRECTS = 10
USER_AGENT = "openstack-controller"

_PIECE = 64 * 1024
_HOST_UNSAFE = re.compile(r"[^A-Za-z0-9.:\[\]_-]")


@dataclass(frozen=True)
class Proxy:
    """Addresses of proxies for http and https, and hosts that are reached directly."""

    http: str = ""
    https: str = ""
    no_proxy: tuple[str, ...] = ()

    @staticmethod
    def of_environment() -> Proxy:
        """The settings in HTTP_PROXY, HTTPS_PROXY and NO_PROXY, upper or lower case."""
        found = getproxies_environment()
        bypassed = tuple(part.strip() for part in found.get("no", "").split(",") if part.strip())
        return Proxy(found.get("http", ""), found.get("https", ""), bypassed)

    def for_url(self, url: str) -> str:
        """The proxy to use for the address, empty for none."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        if any(_covers(entry.lower(), host) for entry in self.no_proxy):
            return ""
        return self.https if parts.scheme == "https" else self.http


@dataclass(frozen=True)
class Access:
    """Credentials and authority for a repository.

    `ca` is PEM text, empty for the system's authorities. `credentials_secret` and `ca_secret` are the names
    of their Secrets, for messages.
    """

    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)
    credentials_secret: str = ""
    ca_secret: str = ""
    proxy: Proxy = field(default_factory=Proxy, repr=False)


@dataclass(frozen=True)
class Answer:
    """One answer: `url` is its final source; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class RepositoryClient:
    """Requests to one repository during one pull.

    `repository` is its name in messages. Errors are from `controller.errors`, and never quote credentials,
    queries of addresses, or texts of the repository.
    """

    def __init__(self, repository: str, access: Access, *, seconds: float = PULL_SECONDS) -> None:
        self._repository = repository
        self._access = access
        self._until = time.monotonic() + seconds
        self._context: ssl.SSLContext | None = None
        self._pools: dict[str, urllib3.PoolManager] = {}

    def __enter__(self) -> RepositoryClient:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self._pools.values():
            pool.clear()

    @property
    def access(self) -> Access:
        return self._access

    def get(
        self, url: str, *, limit: int, headers: Mapping[str, str] | None = None, expected: Iterable[int] = ()
    ) -> Answer:
        """The answer to a GET; redirects are followed, without authorization to another origin.

        `limit` bounds the body in bytes. A status other than 200 and those `expected` is an error:
        RepositoryDenied, RepositoryUnavailable, or ChartNotFound for 404.
        """
        sent = {"user-agent": USER_AGENT, **(headers or {})}
        for _ in range(MOST_REDIRECTS + 1):
            answer = self._once(url, sent, limit)
            target = answer.headers.get("location", "")
            if answer.status not in (301, 302, 303, 307, 308) or not target:
                break
            following = urljoin(url, target)
            self._check_redirect(url, following)
            if origin(following) != origin(url):
                sent.pop("authorization", None)
            url = following
        else:
            raise RepositoryUnavailable(
                f"{self._repository} redirects in a loop; correct the address of the repository"
            )
        if answer.status != 200 and answer.status not in tuple(expected):
            raise self._refusal(answer)
        return answer

    def denied(self, status: int) -> RepositoryDenied:
        """The error for a repository that requires credentials, or refuses the given ones."""
        secret = self._access.credentials_secret
        remedy = (
            f'the repository refuses the credentials in Secret "{secret}"; correct its keys '
            "username and password"
            if secret
            else "the repository asks for credentials; name a Secret with keys username and "
            "password in credentialsSecret"
        )
        return RepositoryDenied(f"{self._repository} answered {status}: {remedy}")

    def _once(self, url: str, headers: Mapping[str, str], limit: int) -> Answer:
        try:
            pool = self._pool(url)
            response = pool.request(
                "GET",
                url,
                headers=dict(headers),
                redirect=False,
                retries=False,
                preload_content=False,
                timeout=urllib3.Timeout(
                    connect=min(CONNECT_SECONDS, self._left()), read=min(SILENCE_SECONDS, self._left())
                ),
            )
            try:
                body = self._read(response, url, limit)
                found = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status, found, body, url)
            finally:
                response.close()
        except (HTTPError, OSError, ValueError) as error:
            raise self._failure(error, url) from None

    def _read(self, response: urllib3.BaseHTTPResponse, url: str, limit: int) -> bytes:
        pieces: list[bytes] = []
        size = 0
        # Not decoded, because a small answer could unpack to a huge one.
        for piece in response.stream(_PIECE, decode_content=False):
            self._left()
            size += len(piece)
            if size > limit:
                raise ChartInvalid(
                    f"{shown(url)} is larger than {limit // 2**20} MiB; is it a chart repository at all?"
                )
            pieces.append(piece)
        return b"".join(pieces)

    def _left(self) -> float:
        remaining = self._until - time.monotonic()
        if remaining <= 0:
            raise RepositoryUnavailable(f"{self._repository} is too slow: the pull took too long")
        return remaining

    def _pool(self, url: str) -> urllib3.PoolManager:
        if self._context is None:
            self._context = self._tls()
        proxy = self._access.proxy.for_url(url)
        if proxy not in self._pools:
            self._pools[proxy] = _pool(proxy, self._context)
        return self._pools[proxy]

    def _tls(self) -> ssl.SSLContext:
        if not self._access.ca:
            return ssl.create_default_context()
        try:
            # Only this CA, like Helm's --ca-file: naming one excludes all others.
            return ssl.create_default_context(cadata=self._access.ca)
        except (ssl.SSLError, ValueError):
            raise RepositoryUntrusted(
                f'Secret "{self._access.ca_secret}" holds no certificate in PEM under ca.crt'
            ) from None

    def _check_redirect(self, url: str, following: str) -> None:
        before, after = urlsplit(url), urlsplit(following)
        if after.scheme not in ("http", "https") or (before.scheme, after.scheme) == ("https", "http"):
            raise RepositoryUnavailable(
                f"{self._repository} redirects to {shown(following)}, which is not protected by TLS"
            )

    def _refusal(self, answer: Answer) -> ChartInvalid:
        if answer.status in (401, 403, 407):
            return self.denied(answer.status)
        if answer.status in (404, 410):
            return ChartNotFound(f"{shown(answer.url)} does not exist (status {answer.status})")
        return RepositoryUnavailable(
            f"{self._repository} answered {answer.status} for {shown(answer.url)}",
            _retry_after(answer.headers),
        )

    def _failure(self, error: Exception, url: str) -> ChartInvalid:
        certificate = _certificate_error(error)
        if certificate is not None:
            words = certificate.verify_message or "the certificate cannot be verified"
            ca = self._access.ca_secret
            remedy = (
                f'put the CA that signed it into key ca.crt of Secret "{ca}"'
                if ca
                else "name a Secret in caSecret whose key ca.crt holds the CA that signed it"
            )
            return RepositoryUntrusted(f"the certificate of {shown(url)} is not trusted: {words}; {remedy}")
        return RepositoryUnavailable(f"{shown(url)} cannot be read: {_cause(error)}")


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address: credentials stay within them."""
    parts = urlsplit(url)
    default = 443 if parts.scheme == "https" else 80
    return parts.scheme, (parts.hostname or "").lower(), parts.port or default


def shown(url: str) -> str:
    """The address as messages may show it: without user, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, _HOST_UNSAFE.sub("?", host), parts.path[:500], "", ""))


def basic(access: Access) -> str:
    """The value of an Authorization header with the credentials."""
    name = f"{access.username}:{access.password}"
    return str(urllib3.make_headers(basic_auth=_latin(name))["authorization"])


def _covers(entry: str, host: str) -> bool:
    """Whether an entry of NO_PROXY means the host: a name, a domain, an address, a network, or all."""
    if entry == "*":
        return True
    domain = entry.removeprefix("*").removeprefix(".").partition(":")[0]
    if domain and (host == domain or host.endswith(f".{domain}")):
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _latin(text: str) -> str:
    # urllib3 encodes as Latin-1; browsers, Helm and curl send UTF-8: its octets, one character each.
    return text.encode().decode("latin-1")


def _pool(proxy: str, context: ssl.SSLContext) -> urllib3.PoolManager:
    if not proxy:
        return urllib3.PoolManager(maxsize=2, ssl_context=context)
    parts = urlsplit(proxy)
    headers = {}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers = urllib3.make_headers(proxy_basic_auth=_latin(login))
    plain = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))
    return urllib3.ProxyManager(plain, proxy_headers=headers, maxsize=2, ssl_context=context)


def _certificate_error(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """The certificate's fault behind an error, if that is what it is."""
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error
        inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else None
        error, seen = error.__cause__ or error.__context__ or inner, seen + 1
    return None


def _cause(error: Exception) -> str:
    """The error in our own words, because libraries quote addresses, which may contain tokens."""
    words: tuple[tuple[type[Exception], str], ...] = (
        (ProxyError, "the answer does not come from a proxy"),
        (NameResolutionError, "the name of the host cannot be resolved"),
        (NewConnectionError, "no connection"),
        (ConnectTimeoutError, "the connection timed out"),
        (ReadTimeoutError, "the answer timed out"),
        (SSLError, "the TLS handshake failed"),
        (ProtocolError, "the connection broke"),
    )
    inner = error.__cause__ or error.__context__
    refused = isinstance(inner, ConnectionRefusedError) or "refused" in str(error)
    for kind, text in words:
        if isinstance(error, kind):
            return "the connection is refused" if refused and kind is NewConnectionError else text
    return f"the address cannot be used ({type(error).__name__})"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110, 10.2.3), at most an hour."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        seconds = (
            float(text) if text.isascii() and text.isdigit() else parsedate_to_datetime(text).timestamp()
        )
    except (ValueError, OverflowError):
        return None
    if not text.isdigit():
        seconds -= time.time()
    return min(max(seconds, 0.0), 3600.0)
