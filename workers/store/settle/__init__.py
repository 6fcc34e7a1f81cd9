"""Applying replies to their processes."""
