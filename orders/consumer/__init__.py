"""The consumer of orders that come as messages, a process of its own.

``inbox.py`` receives raw messages, ``message.py`` defines one, ``identity.py`` finds its sender,
``reading.py`` parses it, ``handling.py`` turns it into an order or a dead letter,
``answers.py`` tells the submitter of a refusal, and ``loop.py`` runs it all.
"""
