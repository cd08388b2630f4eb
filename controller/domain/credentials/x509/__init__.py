"""X.509: what is issued, and what is read."""
