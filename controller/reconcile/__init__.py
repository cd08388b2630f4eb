"""What to do next, in terms of ports."""
