"""What a region needs before it is applied."""
