"""ComputeMaintenance: which servers and routers move, how, in which order, and the outcome."""
