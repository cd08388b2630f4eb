"""Views of an upgrade to another version of OpenStack."""
