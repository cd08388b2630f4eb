"""Keys of reconciled objects: each is a namespace and a name."""

from __future__ import annotations

#: Namespace, and name of the OpenStackDeployment.
RegionKey = tuple[str, str]
#: Namespace, and name of the HelmBundle.
BundleKey = tuple[str, str]
#: Namespace, and name of the Helm release.
ReleaseKey = tuple[str, str]
