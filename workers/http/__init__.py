"""Calling services over HTTP: one POST under a total deadline.

What goes wrong is one of the engine's faults::

    from workers.http import post
"""

from workers.http.client import Answer, post

__all__ = ["Answer", "post"]
