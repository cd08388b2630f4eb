"""In-memory stand-ins for the ports; they pass the same contract tests as the real adapters."""
