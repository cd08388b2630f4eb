"""OpenStack-Helm's own charts, which are not in this repository: `make test-upstream CHARTS=<checkout>`."""
