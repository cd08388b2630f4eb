"""Encryption of keys and files that others may read."""
