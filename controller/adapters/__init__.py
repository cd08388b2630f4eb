"""The only code that talks to servers, files and libraries that do."""
