"""A real node beside a sandbox's control plane: its pods run, in namespaces of their own."""
