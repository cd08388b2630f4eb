"""The templates of services: what they are given, what they may call, and which fields cause their output."""
