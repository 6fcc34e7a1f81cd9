"""The chaos runner: the whole system under random faults, and a verdict that can fail.

`python -m tests.chaos --help`, or `make chaos`.  Everything random comes from one seed.

- ``options.py`` (what is asked for), ``schedule.py`` (which fault strikes when)
- ``instances/`` (private servers), ``proxy.py`` (the network to them), ``backend.py`` (a pair)
- ``crew.py`` (the system's processes, kept running), ``spawning.py``, ``system.py`` (all of it)
- ``faults/`` (one file per kind), ``doors/`` (how orders come in), ``accepted.py`` (what was
  accepted, remembered outside the database)
- ``observer.py`` (samples while it runs), ``chronicle.py`` (what happened when), ``progress.py``
- ``witness.py`` (what the outside world saw), ``verdict.py`` (what came of it)
- ``run.py`` (one run), ``scenarios/`` (the presets), ``report/`` (the page)
"""
