"""`python -m sandbox`."""

from __future__ import annotations

from sandbox.cli import main

main()
