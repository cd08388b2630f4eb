"""Commands that take over what others have installed."""
