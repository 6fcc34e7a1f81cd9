"""The operators' desk: pages, incidents, routes, jobs, figures and the doctor.

A Django app of its own beside the engine: it reads the engine's rows and calls its operations.
"""
