"""Small rules that every subject uses: backoff, digests, times, redaction, the list of metrics."""
