"""Credentials that are not there yet are made, and what is published of all that are."""
