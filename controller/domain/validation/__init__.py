"""Checks of objects against their definitions, without an API server."""
