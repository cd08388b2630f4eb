"""Views of osctl: pure, from objects to lines."""
