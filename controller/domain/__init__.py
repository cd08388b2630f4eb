"""What is true: pure rules, no input or output."""
