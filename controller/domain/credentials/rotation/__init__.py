"""Credentials are rotated: which accounts move, what is left of a rotation, when the next one is due."""
