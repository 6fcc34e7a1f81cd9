"""A connection to PostgreSQL that is kept only while it can write.

After a failover a connection may lead to a standby, or to a server that is read-only for the
moment.  Django's health check is ``SELECT 1``, which such a server answers: every process would
keep the connection for ``CONN_MAX_AGE``.  For new connections libpq refuses such servers by
``target_session_attrs=read-write`` (``sasproject.databases``); this is the same rule for kept
ones.  It applies whenever Django checks a connection: at a request, a task, a message, and each
time Beat reads its schedule.
"""

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, ClassVar

from django.db import OperationalError
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property
from psycopg import OperationalError as PsycopgError
from psycopg.errors import ReadOnlySqlTransaction, _WaitTimeout


class _Errors(DatabaseErrorWrapper):
    """Django's translation of errors, except SQLSTATE 25006: the server is read-only.

    Django makes it an ``InternalError``, which is not handled as an outage.
    """

    def __init__(self, database: "DatabaseWrapper") -> None:
        super().__init__(database)
        self._database = database

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(exc_value, ReadOnlySqlTransaction):
            # Makes Django check the connection later, and drop it if it still cannot write.
            self._database.errors_occurred = True
            raise OperationalError(*exc_value.args).with_traceback(traceback) from exc_value
        super().__exit__(exc_type, exc_value, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's connection to PostgreSQL, usable only if it can write."""

    #: Seconds to wait for an answer; None: no limit.  For a frozen server whose machine still
    #: acknowledges packets: then neither the server's limits nor TCP's apply.
    patience: ClassVar[float | None] = None

    def get_new_connection(self, conn_params: Any) -> Any:
        connection = super().get_new_connection(conn_params)
        if self.patience is not None:
            connection.wait = partial(_wait, connection, connection.wait, self.patience)
        return connection

    @cached_property
    def wrap_database_errors(self) -> Any:
        return _Errors(self)

    def is_usable(self) -> bool:
        """Say whether the connection is alive and, if it must be, writable."""
        if self.settings_dict["OPTIONS"].get("target_session_attrs") != "read-write":
            return bool(super().is_usable())
        assert self.connection is not None
        try:
            # As fast as SELECT 1.
            row = self.connection.execute("SHOW transaction_read_only").fetchone()
        except self.Database.Error:
            return False
        return bool(row == ("off",))


def _wait(
    connection: Any, wait: Callable[..., Any], seconds: float, *args: Any, **kwargs: Any
) -> Any:
    """Wait like psycopg, and close the connection if no answer arrives in time."""
    if kwargs.get("timeout") is not None:
        return wait(*args, **kwargs)
    try:
        return wait(*args, **{**kwargs, "timeout": seconds})
    except _WaitTimeout:
        # A late answer must not be taken for the answer to the next statement.
        connection.close()
        raise PsycopgError(f"the server has not answered for {seconds:g} s") from None
