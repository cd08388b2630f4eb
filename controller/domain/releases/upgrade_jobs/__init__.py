"""Jobs of an upgrade that its new pods wait for, and the half of it that runs them first."""
