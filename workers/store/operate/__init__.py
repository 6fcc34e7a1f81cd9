"""What operators and outside services do to processes."""
