"""What every container needs: Lease, work queue, object store, status writer, redaction."""
