"""Asks registries for the present content of image tags (OCI distribution spec 1.1)."""

from __future__ import annotations

import hashlib

from controller.adapters.charts.repository_access import Access, Proxy, RepositoryClient
from controller.adapters.charts.repository_oci import MANIFEST, tagged_manifest
from controller.domain.values.images import split_image
from controller.errors import ChartNotFound

# For an image with several architectures, the list of all; each node chooses its own.
_ACCEPT = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        MANIFEST,
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_HUB, _HUB_REGISTRY, _HUB_OWN = "docker.io", "registry-1.docker.io", "library"


def pinned_image(image: str, *, ca: str = "") -> str:
    """The image with the present digest of its tag; unchanged if it already names a digest.

    Registries are asked without a login; `ca` is PEM text, empty for the authorities of the system. Raises
    ChartNotFound, RepositoryDenied, RepositoryUnavailable, RepositoryUntrusted.
    """
    if "@" in image:
        return image
    host, rest = split_image(image)
    path, _, tag = rest.partition(":")
    if host == _HUB:
        host, path = _HUB_REGISTRY, path if "/" in path else f"{_HUB_OWN}/{path}"
    below, _, name = path.rpartition("/")
    repository = f"oci://{host}/{below}"
    access = Access(ca=ca, proxy=Proxy.of_environment())
    with RepositoryClient(repository, access) as client:
        manifest = tagged_manifest(name, tag or "latest", repository, client, accept=_ACCEPT)
    if manifest is None:
        raise ChartNotFound(f"{host} has no {path}:{tag or 'latest'}")
    return f"{image}@sha256:{hashlib.sha256(manifest).hexdigest()}"
