"""Locks that keep `kubectl drain` from ending while a host has servers, or a majority would be lost."""
