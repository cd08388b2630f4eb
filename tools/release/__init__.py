"""Makes the files of a release: image, charts, wheel, Helm, bill of materials, checksums and a signature."""
