"""What a support file needs of the Kubernetes API: long lists page by page, and ends of logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from controller.ports.kubernetes import KubeObject, Resource


class Survey(Protocol):
    """Reads only. Every call has a deadline of its own, and raises errors of `controller.errors` only."""

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        """The object, or None when it does not exist."""
        ...

    def scan(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        metadata: bool = False,
    ) -> Iterator[KubeObject]:
        """All objects that match the selectors, page by page; with `metadata` only that of each.

        May raise after some objects: what came so far is a part of the list.
        """
        ...

    def log_end(
        self,
        pod: str,
        namespace: str,
        container: str,
        *,
        lines: int,
        octets: int,
        previous: bool = False,
        since: int = 0,
        times: bool = False,
    ) -> str:
        """The last lines of a container's log; empty where there is none. Raises where it is refused.

        `since`: only those of the last seconds. `times`: each line begins with its time and a blank.
        """
        ...

    def server_version(self) -> Mapping[str, Any]:
        """What the API server says of its version."""
        ...
