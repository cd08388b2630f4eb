"""MachineSets and their mirrors, against an API server in memory."""
