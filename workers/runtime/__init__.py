"""Utilities of a process: connections, identity, limits, failpoints."""
