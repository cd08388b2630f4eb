"""Which events give a bundle another pass."""
