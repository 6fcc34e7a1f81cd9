"""The engine: a durable Scheduler Agent Supervisor for Django and Celery.

It knows workflows, processes and steps, and never an order.  Where to look:

- the three roles: ``scheduler.py``, ``agent.py``, ``supervisor.py``
- what a workflow is: ``workflow.py``, ``policies.py``, ``registry.py``
- the state store: ``states.py`` (legal moves), ``models/`` (tables), ``store/`` (the only
  writer of state), ``decisions.py`` (what a reply leads to, pure)
- the wire: ``messages.py`` (formats), ``dispatch.py`` and ``publishing.py`` (requests, replies,
  wake-ups), ``senders/`` (status messages), ``tasks.py`` (Celery's entry points)
- the edges: ``submission.py`` (accepting a process), ``callbacks.py`` and ``receiving.py``
  (answers from outside), ``progress.py`` (reading one), ``alerts.py`` (telling an operator)
"""
