"""Carries out the upgrade of a region to another version of OpenStack, step by step."""
