"""Clients of the remote services: one file per kind of service, over one HTTP client.

Every call has a total deadline and ends in an ``Answer``, one of the engine's faults, or
``DeadlinePassed``.  Base URLs are arguments; nothing here reads settings or models.
"""
