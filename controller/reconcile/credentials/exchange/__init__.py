"""What the region gives to Ceph and to other namespaces, and takes from them."""
