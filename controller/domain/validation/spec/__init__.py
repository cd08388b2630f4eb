"""What a spec names that nothing can have, and what of it reaches nothing."""
