"""The randomness of the operating system."""

from __future__ import annotations

import random
import secrets


class SystemRandomness:
    """`controller.ports.system.Randomness`."""

    def token(self, alphabet: str, length: int) -> str:
        return "".join(secrets.choice(alphabet) for _ in range(length))

    def octets(self, length: int) -> bytes:
        return secrets.token_bytes(length)

    def jitter(self) -> float:
        return random.random()  # noqa: S311 - spreads retries over time, protects nothing
