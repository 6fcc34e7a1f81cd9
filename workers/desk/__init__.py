"""The operators' desk: pages, incidents, routes, jobs and figures.

A Django app of its own beside the engine: it reads the engine's rows and calls its operations.
"""
