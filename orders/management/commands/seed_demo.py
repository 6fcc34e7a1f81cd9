"""Adds the demonstration data that is missing."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from orders import demo_data
from workers.management.terminal import TerminalCommand


class Command(TerminalCommand):
    help = "Adds the demo products, the users operator and viewer, and the periodic tasks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--no-users",
            action="store_true",
            help="leave out the users with well-known passwords (needed in production)",
        )

    def handle(self, *args: Any, no_users: bool = False, **options: Any) -> None:
        from workers.supervisor import beat_schedule

        if not (settings.DEMO_LOGINS or no_users):
            raise CommandError(
                "DJANGO_DEBUG is off, and the users operator and viewer have passwords that "
                "everybody knows. Nothing was added. Use --no-users to add products only, and "
                "createsuperuser for people."
            )
        result = demo_data.seed(with_users=not no_users)
        beat_schedule.ensure()
        self.stdout.write(f"Added {result.products} products and {result.users} users.")
