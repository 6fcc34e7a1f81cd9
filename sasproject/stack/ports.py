"""The stack's ports on the loopback interface."""

import socket

from sasproject.stack.exceptions import StackError

HOST = "127.0.0.1"
WEB_PORT = 8000
SANDBOX_PORT = 8900


def choose(wanted: int | None, *, preferred: int, option: str, avoid: int | None = None) -> int:
    """Return the wanted port, which must be free, or the preferred one, or else any free port."""
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


def help_text(preferred: int) -> str:
    """Return the help text of an optional port."""
    return f"default: {preferred}, or any free one"


def is_free(port: int) -> bool:
    with socket.socket() as listener:
        # Like servers: ignore connections in TIME_WAIT.
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
