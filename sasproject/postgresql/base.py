"""A connection to PostgreSQL that is kept only while it can write.

After a failover a connection may lead to a standby, or to a server that is read-only for the
moment.  Django asks a kept connection for ``SELECT 1``, which those answer: every process would
go on with it for ``CONN_MAX_AGE``.  New connections are refused by libpq's own
``target_session_attrs=read-write`` (``sasproject.databases``); this is the same rule for kept
ones.  It holds wherever Django looks at a connection: at a request, a task, a message, and each
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
    """Django's translation of errors, but for SQLSTATE 25006: the server is away for writers.

    Django calls it an ``InternalError``, which nobody expects of an outage.
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
            # At rest the connection is looked at, and dropped if it still cannot write.
            self._database.errors_occurred = True
            raise OperationalError(*exc_value.args).with_traceback(traceback) from exc_value
        super().__exit__(exc_type, exc_value, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's connection to PostgreSQL, whose health is that it can write."""

    #: How long an answer is waited for; None: as long as it takes.  For a server that is frozen,
    #: whose machine goes on to acknowledge what it gets: no limit of the server's or TCP's strikes.
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
        """Say whether the connection lives and can do what it was made for."""
        if self.settings_dict["OPTIONS"].get("target_session_attrs") != "read-write":
            return bool(super().is_usable())
        assert self.connection is not None
        try:
            # As quick as SELECT 1.
            found = self.connection.execute("SHOW transaction_read_only").fetchone()
        except self.Database.Error:
            return False
        return bool(found == ("off",))


def _wait(connection: Any, wait: Callable[..., Any], seconds: float, *args: Any, **of: Any) -> Any:
    """Wait as psycopg does, and drop the connection where nothing comes in time."""
    if of.get("timeout") is not None:
        return wait(*args, **of)
    try:
        return wait(*args, **{**of, "timeout": seconds})
    except _WaitTimeout:
        # What it was asked may still be answered: nobody may take that for another's answer.
        connection.close()
        raise PsycopgError(f"the server has not answered for {seconds:g} s") from None
