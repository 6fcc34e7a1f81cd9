"""The queue's door: orders that come as messages, in a process of its own.

``inbox.py`` gets raw messages, ``message.py`` is one, ``identity.py`` says who sent it,
``reading.py`` what it asks for, ``handling.py`` makes an order or a dead letter of it,
``answers.py`` tells the submitter of a refusal, and ``loop.py`` keeps all that going.
"""
