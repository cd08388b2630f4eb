"""MachineSets and their mirrors."""
