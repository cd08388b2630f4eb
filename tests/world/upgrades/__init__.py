"""A world in which a region is upgraded, and anything happens meanwhile."""
