"""The osctl command line."""
