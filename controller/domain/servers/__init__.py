"""OpenStackServers: what is made for one, in which order, and what it comes to. Pure."""
