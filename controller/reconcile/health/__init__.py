"""health: status.health and the probes of the region's services."""
