"""Whose data it is: what is kept of a person, exported, erased and registered.

What a page may show of it now is another question (``rules.masks``, ``store.personal_data``).
"""
