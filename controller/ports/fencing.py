"""The operator's fencing service, as a protocol."""

from __future__ import annotations

from typing import Protocol


class Fencing(Protocol):
    """The operator's own service that powers machines off."""

    def confirm(
        self,
        url: str,
        *,
        node: str,
        uid: str,
        boot: str,
        since: float,
        token: str = "",
        authority: bytes = b"",
    ) -> bool:
        """Asks for the node to be off; whether that is certain by now. May be asked again and again.

        `uid`, `boot`: of the Node, and of its machine; `since`: when it was lost, as Kubernetes says.
        `token`: the bearer's, empty for none; `authority`: certificates to trust besides the usual ones.
        Raises CloudUnavailable where the service does not answer.
        """
        ...
