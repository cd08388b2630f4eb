"""What seals keys and files, so that they can lie where others may read."""
