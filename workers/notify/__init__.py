"""Telling submitters what became of their processes, at least once and in order."""
