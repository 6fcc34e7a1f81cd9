"""Whether a process can work where it is started: asked by workers, Beat and web processes.

A server that is away is no reason to end: it is waited for, as later on.
"""

from collections.abc import Iterable
from typing import Any

from amqp.exceptions import AccessRefused
from django.core.checks import run_checks

from workers.checks import tables
from workers.exceptions import first_line

#: How a broker says that it answers, and does not let us in.  Redis's own exceptions would
#: need its package, which an installation with RabbitMQ has not.
REFUSED = ("AuthenticationError", "AuthenticationWrongNumberOfArgsError", "NoPermissionError")


def problems() -> Iterable[str]:
    """Yield what the system checks refuse, and a database without our tables."""
    for message in run_checks():
        if message.is_serious() and not message.is_silenced():
            yield str(message)
    if tables.are_missing():
        yield tables.MISSING


def problems_of_broker(app: Any) -> Iterable[str]:
    """Yield why the broker does not let us in; nothing where it does not answer.

    A virtual host that is gone is waited for, too: it may be made anew meanwhile.
    """
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=connection.connect_timeout)
    except Exception as error:  # noqa: BLE001 (every transport has its own)
        if is_refused(error):
            yield (
                f"The broker refuses this login: {first_line(error)}. "
                "Correct BROKER_URL, or give the user its rights."
            )


def is_refused(error: BaseException | None) -> bool:
    """Say whether an error, or what is behind it, is a refused login."""
    while error is not None:
        if isinstance(error, AccessRefused) or type(error).__name__ in REFUSED:
            return True
        error = error.__cause__ or error.__context__
    return False
