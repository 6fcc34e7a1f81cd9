"""A connection to PostgreSQL that is kept only while it can write.

After a failover a connection may lead to a standby, or to a server that is read-only for the
moment.  Django asks a kept connection for ``SELECT 1``, which those answer: every process would
go on with it for ``CONN_MAX_AGE``.  New connections are refused by libpq's own
``target_session_attrs=read-write`` (``sasproject.databases``); this is the same rule for kept
ones.  It holds wherever Django looks at a connection: at a request, a task, a message, and each
time Beat reads its schedule.
"""

from types import TracebackType
from typing import Any

from django.db import OperationalError
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property
from psycopg.errors import ReadOnlySqlTransaction


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
