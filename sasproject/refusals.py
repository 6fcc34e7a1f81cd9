"""Errors of the environment, as one line with the remedy instead of a traceback.

Commands, Celery's and ours, end by an uncaught exception: `sys.excepthook` is the one place that
all of them share.  gunicorn catches every exception, so `sasproject.wsgi` calls `explain` itself.
"""

import sys
from types import TracebackType

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.db import Error as DjangoError
from kombu.exceptions import OperationalError as BrokerError

from workers.celery import broker_login, database_login
from workers.exceptions import causes, first_line, sqlstate

#: PostgreSQL's code for a missing relation, and SQLite's message.
_NO_TABLE, _NO_SUCH_TABLE = "42P01", "no such table"
#: PostgreSQL's code for a lock timeout.
_NO_LOCK = "55P03"


def explain(error: BaseException) -> str | None:
    """Return what is wrong and what to do, or None if the environment is not to blame."""
    if refusal := broker_login.refusal(error):
        return refusal
    for cause in causes(error):
        if isinstance(cause, ImproperlyConfigured):
            return str(cause)
        if isinstance(cause, DatabaseError) and _is_missing_table(cause):
            return f"A table is missing ({first_line(cause)}). Run `manage.py migrate`."
        if sqlstate(cause) == _NO_LOCK:
            return (
                f"Somebody holds a lock: {first_line(cause)}. "
                "End the long transaction, such as a dump or a report, and try again."
            )
        if isinstance(cause, DjangoError) and (message := database_login.explain(cause)):
            return message
        if isinstance(cause, BrokerError):
            return (
                f"The broker does not answer: {first_line(cause)}. "
                "Check BROKER_URL and the server, and try again."
            )
    return None


def install() -> None:
    """Make this process end with the line; ``--traceback`` shows the traceback instead."""
    usual = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        message = None if "--traceback" in sys.argv else explain(error)
        if message is None:
            usual(kind, error, at)
        else:
            sys.stderr.write(f"{message}\n")

    sys.excepthook = hook


def _is_missing_table(error: DatabaseError) -> bool:
    return sqlstate(error) == _NO_TABLE or _NO_SUCH_TABLE in str(error)
