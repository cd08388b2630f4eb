"""Whether this process may build or fetch programs that are missing: plain `pytest` may not."""

from __future__ import annotations

import os

from sandbox.errors import NotBuilt

# Environment variable; `never`: what is missing is an error. Processes below inherit it.
BUILDS = "SANDBOX_BUILDS"


def demand_builds(what: str) -> None:
    """Raises NotBuilt where this process was asked to build nothing."""
    if os.environ.get(BUILDS) == "never":
        raise NotBuilt(f"{what}: missing, and not built here; `make test-servers` builds what its tests need")
