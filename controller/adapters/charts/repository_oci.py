"""Pulls charts from OCI registries (OCI distribution spec 1.1; helm.sh/docs/topics/registries)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from controller.adapters.charts.files import LARGEST_ARCHIVE
from controller.adapters.charts.repository_access import RepositoryClient, basic, origin, shown
from controller.adapters.charts.repository_http import is_loopback, missing
from controller.adapters.charts.versions import choose_version
from controller.errors import (
    ChartInvalid,
    ChartNotFound,
    ChartUntrusted,
    RepositoryUnavailable,
)

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CHART_LAYERS = ("application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip")
LARGEST_DOCUMENT = 4 * 1024 * 1024

# Repository names as the distribution spec allows them; the rest of an address is the registry's host.
_PATH = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


def fetch_oci(name: str, version: str, repository: str, client: RepositoryClient) -> bytes:
    """The archive of the chart below the `oci://` address, compared with the digest in its manifest.

    Raises ChartUntrusted, RepositoryDenied, RepositoryUnavailable, and ChartNotFound with the available
    versions.
    """
    return _Registry(name, version, repository, client).pull()


def list_oci(name: str, repository: str, client: RepositoryClient) -> tuple[str, ...]:
    """The versions of the chart that the registry lists, newest first."""
    return tuple(_Registry(name, "", repository, client).versions())


def tagged_manifest(
    name: str, tag: str, repository: str, client: RepositoryClient, *, accept: str
) -> bytes | None:
    """The manifest of a tag, byte for byte, or None. Raises as `fetch_oci`."""
    return _Registry(name, "", repository, client).tagged(tag, accept=accept)


class _Registry:
    """One chart of one registry during one pull."""

    def __init__(self, name: str, version: str, repository: str, client: RepositoryClient) -> None:
        parts = urlsplit(repository)
        path = f"{parts.path.strip('/')}/{name}".strip("/")
        if not parts.netloc or not _PATH.fullmatch(path):
            raise ChartNotFound(
                f'{repository} cannot hold chart "{name}": names in a registry are in lower case'
            )
        self._name, self._version, self._repository = name, version, repository
        self._client = client
        self._host, self._path = parts.netloc, path
        self._base = f"https://{parts.netloc}"
        self._loopback = is_loopback(parts.hostname or "")
        self._authorization = ""

    def pull(self) -> bytes:
        what = f'chart "{self._name}" {self._version} of {self._repository}'
        layer = self._layer(self._manifest(), what)
        digest, size = str(layer.get("digest")), layer.get("size")
        if not _DIGEST.fullmatch(digest):
            raise ChartUntrusted(f"{what}: its manifest names no sha256 digest of the chart")
        answer = self._get(f"blobs/{digest}", limit=LARGEST_ARCHIVE)
        if answer is None:
            raise ChartNotFound(f"{what}: the registry has its manifest but not its content; push it again")
        found = f"sha256:{hashlib.sha256(answer).hexdigest()}"
        if found != digest or (isinstance(size, int) and size != len(answer)):
            raise ChartUntrusted(
                f"{what} is not what its manifest lists: {found[:23]}… instead of {digest[:23]}…; "
                "push it again, or find out who changed it"
            )
        return answer

    def _manifest(self) -> Mapping[str, Any]:
        answer = self.tagged(self._version)
        if answer is None:
            versions = self.versions()
            chosen = choose_version(self._version, versions)
            answer = self.tagged(chosen) if chosen else None
            if answer is None:
                raise missing(self._name, self._version, self._repository, versions)
        return _document(answer, f"{self._repository}/{self._name}")

    def tagged(self, version: str, *, accept: str = MANIFEST) -> bytes | None:
        # A tag has no "+": Helm writes "_" in its place.
        tag = quote(version.replace("+", "_"))
        return self._get(f"manifests/{tag}", accept=accept, limit=LARGEST_DOCUMENT)

    def _layer(self, manifest: Mapping[str, Any], what: str) -> Mapping[str, Any]:
        layers = manifest.get("layers")
        for layer in layers if isinstance(layers, list) else ():
            if isinstance(layer, dict) and layer.get("mediaType") in CHART_LAYERS:
                return layer
        raise ChartInvalid(f"{what} is no Helm chart: its manifest has no layer with one; push it with helm")

    def versions(self) -> list[str]:
        with suppress(ChartInvalid):
            answer = self._get("tags/list", limit=LARGEST_DOCUMENT)
            listed = _document(answer, "").get("tags") if answer is not None else None
            tags = [tag for tag in listed if isinstance(tag, str)] if isinstance(listed, list) else []
            return [tag.replace("_", "+") for tag in reversed(tags)]
        return []

    def _get(self, path: str, *, limit: int, accept: str = "*/*") -> bytes | None:
        """The content there, or None."""
        url = f"{self._base}/v2/{self._path}/{path}"
        for attempt in range(2):
            headers = {"accept": accept}
            if self._authorization:
                headers["authorization"] = self._authorization
            try:
                answer = self._client.get(url, limit=limit, headers=headers, expected=(401, 404))
            except RepositoryUnavailable:
                if not self._loopback or self._base.startswith("http:"):
                    raise
                # A registry on this machine may work without TLS, as with other clients.
                self._base = f"http://{self._host}"
                return self._get(path, limit=limit, accept=accept)
            if answer.status != 401:
                return None if answer.status == 404 else answer.body
            # Only the registry itself may ask for credentials, not the target of a redirect.
            asked = origin(answer.url) == origin(url)
            if attempt or not asked or not self._login(answer.headers.get("www-authenticate", "")):
                raise self._client.denied(401)
        return None

    def _login(self, challenge: str) -> bool:
        """Answers the registry's challenge; False when there is nothing to answer it with."""
        access = self._client.access
        known = bool(access.username or access.password)
        scheme, _, rest = challenge.partition(" ")
        if scheme.lower() == "basic":
            self._authorization = basic(access) if known else ""
            return known
        if scheme.lower() != "bearer":
            return False
        parameters = dict(_PARAMETER.findall(rest))
        realm = parameters.get("realm", "")
        if not realm.startswith("https://") and not (self._loopback and realm.startswith("http://")):
            raise RepositoryUnavailable(
                f"{self._repository} names {shown(realm)} as its token server, which is not protected by TLS"
            )
        query = {"scope": f"repository:{self._path}:pull"}
        if parameters.get("service"):
            query["service"] = parameters["service"]
        answer = self._client.get(
            f"{realm}{'&' if '?' in realm else '?'}{urlencode(query)}",
            limit=LARGEST_DOCUMENT,
            headers={"authorization": basic(access)} if known else {},
        )
        document = _document(answer.body, shown(realm))
        token = document.get("token") or document.get("access_token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise RepositoryUnavailable(f"{shown(realm)} returned no token")
        self._authorization = f"Bearer {token}"
        return True


def _document(text: bytes, where: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RepositoryUnavailable(f"{where} answered with something that is not JSON")
    return found
