"""osctl restore: a region that comes back."""
