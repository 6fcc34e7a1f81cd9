"""Telling operators: messages about incidents, and the ping to whoever watches."""
