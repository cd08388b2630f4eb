"""Taking over a region that others have installed: which spec fits it best, and what then differs."""
