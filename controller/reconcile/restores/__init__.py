"""Carries out restores of a region."""
