"""osctl: commands for one release or several."""
