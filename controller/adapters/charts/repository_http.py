"""Pulls charts from HTTP repositories, as Helm describes them (helm.sh/docs/topics/chart_repository)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from urllib.parse import urljoin, urlsplit

from controller.adapters.charts.files import LARGEST_ARCHIVE
from controller.adapters.charts.repository_access import RepositoryClient, basic, origin, shown
from controller.adapters.charts.repository_index import Index, IndexEntry, read_index
from controller.adapters.charts.versions import choose_version
from controller.errors import ChartNotFound, ChartUntrusted, RepositoryDenied, RepositoryUnavailable

LARGEST_INDEX = 64 * 1024 * 1024
_LISTED_VERSIONS = 5


def fetch_index(repository: str, client: RepositoryClient) -> Index:
    """The index of the repository. Raises ChartNotFound when there is none."""
    address = _below(repository, "index.yaml")
    try:
        answer = client.get(address, limit=LARGEST_INDEX, headers=_login(repository, address, client))
    except ChartNotFound:
        raise ChartNotFound(
            f"{repository} has no index.yaml; give the address of a Helm repository, or oci:// for a registry"
        ) from None
    return read_index(answer.body, f"{repository}/index.yaml")


def fetch_archive(name: str, version: str, repository: str, index: Index, client: RepositoryClient) -> bytes:
    """The chart's archive, compared with the digest that the index lists.

    Raises ChartUntrusted, and ChartNotFound with the available versions.
    """
    entry = _entry(name, version, repository, index)
    if not entry.urls or not entry.urls[0]:
        raise ChartNotFound(f'{repository} lists chart "{name}" {version} without an address')
    address = urljoin(_below(repository, ""), entry.urls[0])
    _check_address(repository, address)
    try:
        answer = client.get(address, limit=LARGEST_ARCHIVE, headers=_login(repository, address, client))
    except ChartNotFound:
        raise ChartNotFound(
            f'{repository} lists chart "{name}" {version}, but {shown(address)} does not exist; update the '
            "repository's index"
        ) from None
    check_digest(entry.digest, answer.body, f'chart "{name}" {version} of {repository}')
    return answer.body


def check_digest(listed: str, content: bytes, what: str) -> None:
    """Raises ChartUntrusted if the content differs from the index; an index may list no digest."""
    expected = listed.strip().lower().removeprefix("sha256:")
    found = hashlib.sha256(content).hexdigest()
    if expected and expected != found:
        raise ChartUntrusted(
            f"{what} is not what the repository lists: sha256 {found[:16]}… instead of {expected[:16]}…; "
            "publish it again, or find out who changed it"
        )


def missing(name: str, version: str, repository: str, versions: Iterable[str]) -> ChartNotFound:
    """The error for a missing version, with the available ones."""
    known = list(versions)
    listed = ", ".join(known[:_LISTED_VERSIONS]) + (" …" if len(known) > _LISTED_VERSIONS else "")
    there = f"it has {listed}" if known else "the repository lists no usable version"
    return ChartNotFound(f'{repository} has no chart "{name}" in version {version}; {there}')


def _entry(name: str, version: str, repository: str, index: Index) -> IndexEntry:
    if name not in index:
        raise ChartNotFound(f'{repository} has no chart "{name}"; correct the repository or the name')
    chosen = choose_version(version, (entry.version for entry in index[name]))
    for entry in index[name]:
        if entry.version == chosen:
            return entry
    raise missing(name, version, repository, (entry.version for entry in index[name]))


def _check_address(repository: str, address: str) -> None:
    scheme = urlsplit(address).scheme
    if scheme not in ("http", "https") or (scheme == "http" and repository.startswith("https:")):
        raise RepositoryUnavailable(
            f"{repository} lists the chart at {shown(address)}; only https:// is followed from there"
        )


def _login(repository: str, address: str, client: RepositoryClient) -> Mapping[str, str]:
    """Credentials go only to the repository itself, and never without TLS to another machine."""
    access = client.access
    if not access.username and not access.password:
        return {}
    if origin(address) != origin(repository):
        return {}
    parts = urlsplit(address)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise RepositoryDenied(
            f'credentials of Secret "{access.credentials_secret}" are not sent to {repository} '
            "without TLS; use https://"
        )
    return {"authorization": basic(access)}


def is_loopback(host: str) -> bool:
    """Whether the name or address is this machine's own."""
    return host in ("localhost", "::1") or host.startswith("127.")


def _below(repository: str, name: str) -> str:
    return f"{repository.rstrip('/')}/{name}"
