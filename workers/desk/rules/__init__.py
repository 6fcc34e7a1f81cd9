"""The desk's decisions: pure functions of values."""
