"""What others changed of a release, and what of it is ignored."""
