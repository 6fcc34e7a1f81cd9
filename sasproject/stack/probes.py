"""Probes of the stack's web servers."""

import http.client

from sasproject.stack.ports import HOST

PROBE_SECONDS = 1.0


def answers(port: int, *paths: str) -> bool:
    """Say whether every path answers without a server error."""
    return all(_status(port, path) < 500 for path in paths)


def _status(port: int, path: str) -> int:
    """Return the answer's status, 599 if there is none.

    Without DEBUG the application may redirect to https or refuse the host name: such a server is
    up.
    """
    connection = http.client.HTTPConnection(HOST, port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 599
    finally:
        connection.close()
