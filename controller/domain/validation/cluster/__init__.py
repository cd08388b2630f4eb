"""What a region asks of its cluster, beside what the cluster has. Pure."""
