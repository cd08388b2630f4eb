"""Root file systems of images, made without Docker: Debian's packages below, a Dockerfile's steps above."""
