"""Claims that are kept when a release no longer contains them."""
