"""Verbs on many processes at once: what was selected, what will be done, what landed.

``kinds.py`` lists the verbs, ``selection.py`` looks at what was selected, ``lists.py`` has
the list's actions and the page that asks before anything is done.
"""
