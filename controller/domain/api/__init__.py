"""What the Kubernetes API sees of us everywhere: conditions, reasons, names, object metadata."""
