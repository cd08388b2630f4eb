"""Features that the API describes and no chart can serve: refused, because ignoring them would deceive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.values import format_path, lookup
from controller.errors import Problem

_GATEWAY = (
    "no chart makes the gateway that would use it",
    "give the certificate to the gateway that publishes the endpoints",
)
_UNSERVED: Mapping[tuple[str, ...], tuple[str, str]] = {
    ("tls", "internal", "enabled"): (
        "the charts do not encrypt traffic between services",
        "encrypt it below them, in the network of the cluster",
    ),
    ("tls", "public", "secretName"): _GATEWAY,
    ("tls", "public", "issuer"): _GATEWAY,
}


def unserved_features(features: Mapping[str, Any]) -> list[Problem]:
    """A problem for each feature that is asked for and cannot be had."""
    return [
        Problem(format_path(("spec", "features", *path)), message, remedy)
        for path, (message, remedy) in _UNSERVED.items()
        if lookup(features, path)
    ]
