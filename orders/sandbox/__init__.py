"""Simulated remote services over real HTTP, with durable ledgers and fault switches.

They use nothing of the rest of the product: no Django, no models, no Celery.  Where to look:

- ``services.py`` (the operations), ``calls.py`` (parses and checks a request)
- ``ledger.py`` (records effects), ``writer.py`` (writes them to disk), ``counts.py``
- ``faults.py`` (the switches), ``strikes.py`` (decides which switches strike a call)
- ``service.py`` (handles a call from arrival to answer), ``server.py`` (HTTP)
"""
