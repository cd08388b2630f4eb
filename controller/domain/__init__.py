"""Pure rules, without input or output."""
