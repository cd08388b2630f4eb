"""Helm: its library, its command line, and its records."""
