"""OpenStack-Helm's own charts, unmodified, from a checkout or a directory of archives that CHARTS names."""
