"""What the status of a region says of it."""
