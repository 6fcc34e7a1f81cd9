"""Django's ``migrate``, one at a time and without the time limits of requests."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from sasproject.databases import without_time_limits

#: The advisory lock of migrations in this database; any number that nothing else uses.
LOCK = 7_205_119
WAIT_SECONDS = 0.5


class Command(migrate.Command):
    """Migrate without a time limit for statements, which may be slow on large tables.

    The lock timeout stays: a migration that waits for a lock blocks all later requests for it.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        with without_time_limits(connection), self._alone(connection):
            super().handle(*args, **options)

    @contextmanager
    def _alone(self, connection: Any) -> Iterator[None]:
        """Wait until no other ``migrate`` is at work; two at once would collide.

        Asks again and again instead of waiting in the database: an index that the other one builds
        concurrently would wait for that statement to end.
        """
        if connection.vendor != "postgresql":
            yield
            return
        has_waited = False
        while not _ask(connection, "pg_try_advisory_lock"):
            if not has_waited:
                self.stdout.write("Another migrate is at work on this database: waiting for it.")
            has_waited = True
            time.sleep(WAIT_SECONDS)
        try:
            yield
        finally:
            # A connection that died meanwhile holds no lock.
            if connection.connection is not None and connection.is_usable():
                _ask(connection, "pg_advisory_unlock")


def _ask(connection: Any, function: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [LOCK])
        return bool(cursor.fetchone()[0])
