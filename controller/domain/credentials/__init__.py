"""Credentials and certificates: which there are, how they are made, when they end."""
