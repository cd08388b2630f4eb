"""The support file of a region: what is read of the cluster, what of it is shown, and how it is written."""
