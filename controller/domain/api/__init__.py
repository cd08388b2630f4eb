"""Common parts of our Kubernetes API: conditions, reasons, names, object metadata."""
