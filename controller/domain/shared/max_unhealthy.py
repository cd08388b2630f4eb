"""`maxUnhealthy`, as in a MachineHealthCheck: how many of a group may be unhealthy, a number or a percentage.

Pure. The bounds are those of the definition of OpenStackDeployment: Kubernetes supports at most 5000 Nodes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 5000
_PERCENTAGE = re.compile(r"([1-9][0-9]?|100)%", re.ASCII)


@dataclass(frozen=True, slots=True)
class MaxUnhealthy:
    """A number, or a percentage of the group (1 to 100); `percentage` is 0 for a number."""

    number: int = 0
    percentage: int = 0

    def allowed(self, total: int) -> int:
        """How many of `total` may be unhealthy at once.

        A percentage is rounded down, and always allows one: a small group could never be helped otherwise.
        """
        return max(1, total * self.percentage // 100) if self.percentage else self.number

    def __str__(self) -> str:
        """As a spec says it."""
        return f"{self.percentage}%" if self.percentage else str(self.number)


def parse_max_unhealthy(given: object) -> MaxUnhealthy:
    """From 3 or "20%". Raises ValueError on anything else."""
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= MOST:
        return MaxUnhealthy(number=given)
    if isinstance(given, str) and (found := _PERCENTAGE.fullmatch(given)):
        return MaxUnhealthy(percentage=int(found[1]))
    raise ValueError(f'expected a number from 1 to {MOST}, or a percentage such as "20%"')
