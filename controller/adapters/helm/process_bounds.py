"""What one process of Helm may take: memory, processor time, time, output, and requests to the API server.

An action ends at its deadline (`controller/reconcile/releases/action_deadline.py`): its hooks first, then the
process (`conversation.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024
# Wall time of a render: much more than its processor time, for a busy machine.
RENDER_SECONDS = 120.0
RENDER_PROCESSOR_SECONDS = 20.0
# Of an action, which mostly waits.
ACTION_PROCESSOR_SECONDS = 120.0
# The output must fit into a record of 1 MiB, which compresses YAML about 1:10.
OUTPUT_OCTETS = 12 * MIB


@dataclass(frozen=True)
class Bounds:
    """Bounds of one request: `memory` and `output` in octets, `processor` and `seconds` in seconds."""

    memory: int
    processor: float
    seconds: float
    output: int


@dataclass(frozen=True)
class HelmLimits:
    """`qps` and `burst`: requests to the API server per second, and at once, of all processes together.

    `memory`: octets that each may use, and `together` all of them, 0 for no limit. `history`: revisions kept
    at a rollback.
    """

    qps: float = 200.0
    burst: int = 400
    memory: int = 512 * MIB
    together: int = 0
    history: int = 5


def render_bounds(memory: int) -> Bounds:
    """Of a render by a process with so much memory."""
    return Bounds(memory, RENDER_PROCESSOR_SECONDS, RENDER_SECONDS, OUTPUT_OCTETS)


def action_bounds(memory: int, timeout: float) -> Bounds:
    """Of an action that may take `timeout` seconds, by a process with so much memory."""
    return Bounds(memory, ACTION_PROCESSOR_SECONDS, timeout, OUTPUT_OCTETS)
