"""HTTP of our own: bounded requests, the fencing service, the health endpoint."""
