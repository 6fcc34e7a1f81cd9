"""The ways in which orders come, the same for ours and for everybody else.

A queue that was filled before the workers began; orders as fast as they are taken, while the
workers run; so many a second; one at a time; so many a second beside a service that takes seconds.

- ``runs.py`` (one measurement of each), ``loaded.py`` (of the last), ``client.py`` (the process
  that submits), ``costs.py`` (what an order cost), ``service.py`` (the remote service of agents
  that call one)
"""
