"""The process and its files: clock, randomness, logs, metrics, the values library."""
