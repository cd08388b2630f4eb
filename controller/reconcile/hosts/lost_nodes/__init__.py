"""Nodes that are lost: the evacuation of their hosts, and what is left of them."""
