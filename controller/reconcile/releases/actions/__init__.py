"""The actions on a release, and what prepares or bounds them."""
