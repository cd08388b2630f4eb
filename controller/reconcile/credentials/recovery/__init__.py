"""What the region is known to have had, and how what was lost of it comes back."""
