"""Locks that keep `kubectl drain` from finishing while a host has servers, routers or networks."""
