"""What the region asks a Ceph cluster for, and what it takes from it."""
