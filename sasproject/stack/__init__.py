"""Runs the whole system from one terminal: every process, its output, its restarts, its end."""
