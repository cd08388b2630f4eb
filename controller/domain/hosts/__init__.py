"""Compute hosts and their Nodes: their state in OpenStack and Kubernetes, and the next step."""
