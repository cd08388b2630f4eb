"""The progress of a region while a command waits for it."""
