"""node: compute hosts follow their Nodes."""
