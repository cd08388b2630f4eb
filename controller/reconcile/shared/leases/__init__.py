"""The Lease of a container between its two processes."""
