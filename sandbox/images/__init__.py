"""Images, built without Docker: recipes, root file systems, and a small writer of OCI archives."""
