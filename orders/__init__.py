"""The shop: the engine's first user.

``submission.place_order`` is the one way in, whichever door an order comes through;
``workflows/`` defines what happens to it; ``agents/`` has one file per remote service;
``sandbox/`` simulates those services.
"""
