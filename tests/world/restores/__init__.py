"""A region that is restored, in memory."""
