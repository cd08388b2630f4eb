"""Texts that service templates write: scripts, and files of other programs."""
