"""Creating processes."""
