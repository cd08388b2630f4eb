"""MachineSets and their mirrors on a real API server."""
