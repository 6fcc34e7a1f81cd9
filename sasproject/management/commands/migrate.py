"""Django's ``migrate``, without the time limits of requests."""

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from sasproject.databases import without_time_limits


class Command(migrate.Command):
    """Migrate without a time limit for statements, which may be slow on large tables.

    The lock timeout stays: a migration that waits for a lock blocks all later requests for it.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        with without_time_limits(connections[options["database"]]):
            super().handle(*args, **options)
