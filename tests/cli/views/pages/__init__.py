"""Pages and drawings of a region."""
