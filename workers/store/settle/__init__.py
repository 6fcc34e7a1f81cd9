"""Apply replies to their processes."""
