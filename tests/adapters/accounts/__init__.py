"""Accounts on servers, as adapters speak to them."""
