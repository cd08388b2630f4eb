"""Regions from files, without a cluster."""
