"""One module for each command of osctl."""
