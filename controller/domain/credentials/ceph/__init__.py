"""Offers of Ceph to a region, and requests of a region to Ceph, in Rook's form and in our own. Pure."""
