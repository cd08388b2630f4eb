"""A real Kubernetes control plane with simulated nodes, on loopback, without privileges.

`Sandbox.up(name)` gives a running one; `ensure_binaries()` builds what it runs, once.
"""

from __future__ import annotations

from sandbox.build import Binaries, ensure_binaries
from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError

__all__ = ["Binaries", "Sandbox", "SandboxError", "ensure_binaries"]
