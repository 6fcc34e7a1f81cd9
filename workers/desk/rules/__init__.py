"""What the desk decides: pure functions of values."""
