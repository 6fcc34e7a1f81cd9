"""Prepares the tables and the demo data before a stack's processes start."""

import sys

from django.conf import settings
from django.core.management import CommandError, call_command, get_commands
from django.db import DatabaseError, connections

from sasproject.stack.backends import database_name
from sasproject.stack.console import Console
from sasproject.stack.exceptions import StackError
from workers.exceptions import first_line


def migrate(console: Console) -> None:
    console.say("migrating")
    try:
        connections["default"].ensure_connection()
    except DatabaseError as error:
        raise StackError(
            f"The database {database_name()} does not answer ({first_line(error)}). Start it, "
            "correct DATABASE_URL, or unset DATABASE_URL to use an embedded one."
        ) from error
    try:
        call_command("migrate", verbosity=0, interactive=False, skip_checks=False)
    except (CommandError, DatabaseError) as error:
        raise StackError(f"Migrating {database_name()} failed: {first_line(error)}") from error
    finally:
        connections.close_all()


def seed(console: Console) -> None:
    if not has_command("seed_demo"):
        console.say("no demo data: there is no seed_demo command")
        return
    # The passwords of the demo accounts are well known.
    users = settings.DEMO_LOGINS
    console.say("seeding demo data" + ("" if users else " without accounts: DJANGO_DEBUG is off"))
    try:
        # The standard output is reserved for the ready line.
        call_command("seed_demo", no_users=not users, stdout=sys.stderr)
    except (CommandError, DatabaseError) as error:
        raise StackError(
            f"Seeding demo data failed: {first_line(error)} (--no-demo-data leaves it out)"
        ) from error
    finally:
        connections.close_all()


def has_command(name: str) -> bool:
    return name in get_commands()
