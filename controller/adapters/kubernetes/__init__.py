"""The Kubernetes API: requests, watches, Events."""
