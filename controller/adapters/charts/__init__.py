"""Charts from the image, directories, HTTP repositories and OCI registries."""
