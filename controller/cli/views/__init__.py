"""What osctl shows: pure, from objects to lines."""
