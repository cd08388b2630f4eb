"""Mode Plan: what would be done to each release, and what it does to the cluster."""
