"""Rotation of credentials: its accounts, its record, and its schedule."""
