"""secrets: makes, stores, follows and exports credentials and certificates."""
