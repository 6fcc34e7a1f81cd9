"""A database as a shop has it after a million orders, made in minutes.

``specimens.py`` has the engine itself take a few dozen orders to every kind of end and
standstill; ``copies.py`` has PostgreSQL copy them, so that what holds of the specimens holds of
every copy.
"""
