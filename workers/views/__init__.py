"""Plain Django views for services that answer later: callbacks by token, signed webhooks.

``workers.urls`` gives each an address.  What they do with a request is a function of its own,
which raises ``RequestRefused``: another API may show it as it shows its errors.
"""
