"""Runs the whole system from one terminal: starts, logs, restarts and stops every process."""
