"""Whether a web server of the stack answers."""

import http.client

from sasproject.stack.ports import HOST

PROBE_SECONDS = 1.0


def answers(port: int, *paths: str) -> bool:
    """Tell whether every path answers without a server error."""
    return all(_status(port, path) < 500 for path in paths)


def _status(port: int, path: str) -> int:
    """Return the answer's status, 599 when there is none.

    Outside DEBUG the application may answer a plain request from here by a redirect to https
    or refuse the host name; a server that does that is up.
    """
    connection = http.client.HTTPConnection(HOST, port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 599
    finally:
        connection.close()
