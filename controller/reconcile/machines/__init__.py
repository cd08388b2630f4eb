"""MachineSets of the machine API mirrored in Cluster API."""
