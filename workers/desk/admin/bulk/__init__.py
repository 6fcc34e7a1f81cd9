"""Verbs on many processes at once: what was selected, what a job would do to it, and the form.

``kinds.py`` lists the verbs, ``selection.py`` examines what was selected, ``lists.py`` has the
list's actions and the page that confirms a job.
"""
