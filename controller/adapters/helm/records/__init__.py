"""Helm's records of releases, read and repaired without Helm."""
