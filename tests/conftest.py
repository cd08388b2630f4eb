"""What all tests share."""

from __future__ import annotations

# First of all: whoever loads Helm's library first decides under which name it writes.
import controller.adapters.helm_library  # noqa: F401

pytest_plugins = ["sandbox.pytest_plugin"]
