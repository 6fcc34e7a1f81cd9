"""Calling services over HTTP: one call under a total deadline.

What goes wrong is one of the engine's faults::

    from workers.http import post

A client of your own turns what a service answers into the same faults by ``fault_of_status``, and
tells it the trace by ``trace_headers()``.
"""

from workers.http.client import Answer, post
from workers.http.faults import fault_of_status
from workers.runtime.tracing import headers as trace_headers

__all__ = ["Answer", "fault_of_status", "post", "trace_headers"]
