"""What the environment got wrong, in one line with the remedy instead of a traceback.

Commands, Celery's and ours, end by an exception that nobody caught: `sys.excepthook` is the
one place that all of them share.  gunicorn catches everything, so `sasproject.wsgi` asks too.
"""

import sys
from types import TracebackType

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.db import Error as DjangoError
from kombu.exceptions import OperationalError as BrokerError

from workers.celery import broker_login, database_login
from workers.exceptions import causes, first_line, sqlstate

#: PostgreSQL's code of a relation that does not exist, and SQLite's words.
_NO_TABLE, _NO_SUCH_TABLE = "42P01", "no such table"
#: PostgreSQL's code of a lock that was not given in time.
_NO_LOCK = "55P03"


def explain(error: BaseException) -> str | None:
    """Return what is wrong and what to do, or None where it is not the environment."""
    if refused := broker_login.refusal(error):
        return refused
    for one in causes(error):
        if isinstance(one, ImproperlyConfigured):
            return str(one)
        if isinstance(one, DatabaseError) and _is_missing_table(one):
            return f"A table is missing ({first_line(one)}). Run `manage.py migrate`."
        if sqlstate(one) == _NO_LOCK:
            return (
                f"Somebody holds a lock: {first_line(one)}. "
                "End the long transaction, such as a dump or a report, and try again."
            )
        if isinstance(one, DjangoError) and (said := database_login.explain(one)):
            return said
        if isinstance(one, BrokerError):
            return (
                f"The broker does not answer: {first_line(one)}. "
                "Check BROKER_URL and the server, and try again."
            )
    return None


def install() -> None:
    """Have this process end with the line; ``--traceback`` shows the whole story."""
    usual = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        said = None if "--traceback" in sys.argv else explain(error)
        if said is None:
            usual(kind, error, at)
        else:
            sys.stderr.write(f"{said}\n")

    sys.excepthook = hook


def _is_missing_table(error: DatabaseError) -> bool:
    return sqlstate(error) == _NO_TABLE or _NO_SUCH_TABLE in str(error)
