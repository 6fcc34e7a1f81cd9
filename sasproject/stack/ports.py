"""Which ports on the loopback interface the stack listens on."""

import socket

from sasproject.stack.exceptions import StackError

HOST = "127.0.0.1"
WEB_PORT = 8000
SANDBOX_PORT = 8900


def choose(wanted: int | None, *, preferred: int, option: str, avoid: int | None = None) -> int:
    """Return the wanted port if it is free; without one the preferred, else any free port."""
    if wanted:
        if wanted == avoid or not is_free(wanted):
            raise StackError(
                f"Port {wanted} is already in use. Stop what listens there, or choose another "
                f"with {option}."
            )
        return wanted
    if wanted is None and preferred != avoid and is_free(preferred):
        return preferred
    while (port := _any()) == avoid:
        pass
    return port


def said(preferred: int) -> str:
    """Return what help says of a port that nobody has to give."""
    return f"default: {preferred}, or any free one"


def is_free(port: int) -> bool:
    with socket.socket() as listener:
        # As servers do: connections that are merely fading away do not count.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
    return True


def _any() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])
