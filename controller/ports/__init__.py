"""What the reconcilers need of the world, as protocols that adapters implement."""
