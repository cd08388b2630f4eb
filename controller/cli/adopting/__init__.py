"""osctl adopt: reads running releases, fits a region to them, and writes what is left."""
