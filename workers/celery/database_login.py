"""Explain in one line why the database cannot be used, with the remedy.

Processes that can wait do so while a server is unavailable.  A refused login or file stays
refused, however long they wait.
"""

import re
import sqlite3

from django.db import Error

from workers.exceptions import AWAY, first_line
from workers.runtime.db_connections import is_read_only

#: Texts of PostgreSQL, its client and PgBouncer about a login, a role or a database.  Without a
#: connection there is no code; for a server in another language, processes wait.
_LOGIN = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|not permitted to log in"
    r"|permission denied for database|no such (user|database)"
    r'|(role|database) "[^"]*" does not exist'
)
#: SQLite's codes of a file that cannot be opened or written.
_FILE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
#: Texts of SQLite and of PostgreSQL's client about an invalid address.
_ADDRESS = ("file is not a database", "invalid connection option")


def refusal(error: Error) -> str | None:
    """Return why a database refuses this process for good, and what to do; None otherwise."""
    message = first_line(error)
    if str(error).startswith(_ADDRESS):
        return (
            f"DATABASE_URL cannot be used: {message}. "
            "Give one such as postgres://user:password@host:5432/name."
        )
    if _LOGIN.search(str(error)):
        return (
            f"The database refuses this login: {message}. "
            "Correct DATABASE_URL, or create the role, its password or the database."
        )
    # The low byte is the code, the others give details.
    if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF in _FILE:
        return (
            f"The database's file cannot be used: {message}. "
            "Correct DATABASE_URL, or let this user write to the file and its folder."
        )
    return None


def explain(error: Error) -> str | None:
    """Return why a database cannot be used now and what to do; None if unknown."""
    if reason := refusal(error):
        return reason
    if not isinstance(error, AWAY):
        return None
    message = first_line(error)
    if is_read_only(error):
        return f"The database is read-only: {message}. Point DATABASE_URL to the primary."
    # FATAL is the server's own word, such as while it is still starting.
    verb = "refuses the connection" if "FATAL" in str(error) else "does not answer"
    return f"The database {verb}: {message}. Check DATABASE_URL and the server, and try again."
