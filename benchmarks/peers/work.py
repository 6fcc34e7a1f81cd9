"""What a step of a peer does: nothing, or one call of the remote service over HTTP."""

import os
import threading
from functools import cache
from typing import Any

from benchmarks.regimes.service import URL

_thread = threading.local()


def work() -> None:
    if URL in os.environ:
        _client().post(os.environ[URL], json={}).raise_for_status()


async def work_async() -> None:
    if URL in os.environ:
        (await _async_client().post(os.environ[URL], json={})).raise_for_status()


@cache
def _async_client() -> Any:
    """Return the client of this process, with a connection for each call that goes on."""
    import httpx2

    return httpx2.AsyncClient(timeout=30, limits=httpx2.Limits(max_connections=None))


def _client() -> Any:
    """Return this thread's client, which keeps its connection."""
    if not hasattr(_thread, "client"):
        import httpx2

        _thread.client = httpx2.Client(timeout=30)
    return _thread.client
