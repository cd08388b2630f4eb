"""node: carries NodeMaintenances out."""
