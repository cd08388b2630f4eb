"""How large an object of a bundle may become."""
