"""Objects of deployed releases that others change or delete: found and corrected."""
