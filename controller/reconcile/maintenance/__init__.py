"""node: carries ComputeMaintenances out."""
