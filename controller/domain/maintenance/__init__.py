"""NodeMaintenance: which servers and routers move, how, in which order, and what it comes to."""
