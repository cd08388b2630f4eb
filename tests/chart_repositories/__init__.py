"""Chart repositories on loopback for tests: an HTTP one and an OCI registry, with TLS and credentials."""
