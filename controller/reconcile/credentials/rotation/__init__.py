"""Credentials are rotated: what is next, and the accounts on their servers that go with it."""
