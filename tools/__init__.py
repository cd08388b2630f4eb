"""Generators and checks that developers run; no part of the product."""
