"""An account of Keystone that may only read, and what others get of it."""
