"""A real OpenStack control plane on loopback, for tests of what the controller does to a cloud."""
