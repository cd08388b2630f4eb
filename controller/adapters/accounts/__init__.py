"""The port `AccountServers` on real databases, brokers and Keystones."""
