"""Django's ``migrate``, without the time limit that requests have."""

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from sasproject.databases import unhurried


class Command(migrate.Command):
    """Bring the tables up to date, however long a statement takes on a large one.

    The limit on waiting for locks stays: who waits for a lock makes everybody behind it wait.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        with unhurried(connections[options["database"]]):
            super().handle(*args, **options)
