"""osctl upgrade: plans, begins, watches and steers an upgrade to another version of OpenStack."""
