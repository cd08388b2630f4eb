"""Objects against the definitions of their resources: structure, defaults and rules."""
