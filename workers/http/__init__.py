"""Calling services over HTTP: one call under a total deadline.

Every failure is one of the engine's faults::

    from workers.http import post

A client of your own turns a service's answers into the same faults with ``fault_of_status``, and
passes the trace on with ``trace_headers()``.
"""

from workers.http.client import Answer, post
from workers.http.faults import fault_of_status
from workers.runtime.tracing import headers as trace_headers

__all__ = ["Answer", "fault_of_status", "post", "trace_headers"]
