"""Lost credentials: the traces that they existed, and their texts in the records of releases."""
