"""What a pod beside the database has of the database's own pods. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_SHARED = ("dnsPolicy", "nodeSelector", "tolerations")


def beside_the_database(database: Mapping[str, Any], pull_secrets: Iterable[str]) -> dict[str, Any]:
    """The part of a pod's spec that places it where the pods of this StatefulSet run, with their pull Secrets
    and these."""
    model = database["spec"]["template"]["spec"]
    pulled = (str(one["name"]) for one in model.get("imagePullSecrets") or ())
    names = dict.fromkeys([*pulled, *pull_secrets])
    found = {key: model[key] for key in _SHARED if key in model}
    return {**found, "imagePullSecrets": [{"name": name} for name in names]} if names else found
