"""Backups of a region: what one contains, when one is made, and whether one can be restored."""
