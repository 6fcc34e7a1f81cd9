"""Plain Django views for services that answer later: callbacks by token, signed webhooks.

``workers.urls`` gives each a URL.  The handling of a request is a function of its own, which raises
``RequestRefused``: another API may show that in its own format of errors.
"""
