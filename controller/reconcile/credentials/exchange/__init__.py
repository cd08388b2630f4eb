"""What the region gives to other namespaces and to people, and what it takes from other namespaces."""
