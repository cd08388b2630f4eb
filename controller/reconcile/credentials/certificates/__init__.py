"""The certificates of the region: its own authority, those of amphorae, and when each ends."""
