"""Tells operators: messages about incidents, and the ping to an outside monitor."""
