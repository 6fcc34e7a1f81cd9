"""Notify submitters about their processes, at least once and in order."""
