"""Compute hosts and their Nodes: what OpenStack and Kubernetes say, and the next step."""
