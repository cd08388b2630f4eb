"""What Ceph offers to a region and what a region asks of Ceph, in Rook's form and in one of our own. Pure."""
