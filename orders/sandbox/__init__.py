"""Stand-in remote services, over real HTTP, with durable ledgers and fault switches.

They know nothing of the rest of the product: no Django, no models, no Celery.  Where to look:

- ``services.py`` (what is offered), ``calls.py`` (one request, checked)
- ``ledger.py`` (which effects happened), ``writer.py`` (how they reach the disk), ``counts.py``
- ``faults.py`` (the switches), ``strikes.py`` (which of them strike one call)
- ``service.py`` (a call from arrival to answer), ``server.py`` (HTTP)
"""
