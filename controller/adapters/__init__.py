"""The only code that uses servers, files, and libraries that do."""
