"""Credentials and certificates: their kinds, generation and expiry."""
