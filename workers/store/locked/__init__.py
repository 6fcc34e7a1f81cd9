"""Rows of whole processes: locked, loaded, saved."""
