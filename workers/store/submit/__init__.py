"""Create processes."""
