"""All rules about the spec of a region: one list, from which checks draw their words."""
