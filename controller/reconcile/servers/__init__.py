"""servers: carries OpenStackServers out."""
