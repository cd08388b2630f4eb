"""Hooks of releases: how far they are, what earlier runs left."""
