"""Asks registries which content the tags of images name now (OCI distribution spec 1.1)."""

from __future__ import annotations

import hashlib

from controller.adapters.charts.repository_access import Access, Proxy, RepositoryClient
from controller.adapters.charts.repository_oci import MANIFEST, tagged_manifest
from controller.domain.values.images import split_image
from controller.errors import ChartNotFound

# Of an image for several architectures, the list of all of them: each node takes its own of it.
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
    """The image with the digest of what its tag names now; as it is where it names a digest.

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
