"""Restores of a region from a backup: what is checked, in which order things happen, and how far one is."""
