"""The database: whether it answers, keeps what it confirmed, and lets nobody block for ever."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.utils.translation import ngettext

from workers.checks.tables import UTF8, foreign_encoding, unapplied
from workers.conf import sas
from workers.doctor.finding import Finding, error, info, ok, warning
from workers.doctor.registry import Need, probe
from workers.runtime import db_connections
from workers.store.db import dialect

#: Django 5.2's own lower bound.
OLDEST_POSTGRES = 140_000
#: An answer slower than this slows every order down.
SLOW_SECONDS = 0.2
SKEW = timedelta(seconds=2)
#: Share of the connections from which on a peak may be refused.
CROWDED = 0.8
#: Connections beside the agents': schedulers, web threads, consumer, Beat, timers, people.
OTHER_CONNECTIONS = 20
READ_ONLY = error(
    "the database is read-only",
    "Orders can be neither taken nor carried on.",
    "Point DATABASE_URL to the primary; if it does, reset default_transaction_read_only there.",
)
_DURABLE = {
    "fsync": ("on", "what was committed may be gone after a crash of the machine"),
    "full_page_writes": ("on", "a page half written when the power fails is lost"),
}
_LIMITS = {
    "statement_timeout": "a statement that hangs holds its worker and its locks",
    "lock_timeout": "whoever waits for a row that a frozen process holds waits with it",
    "idle_in_transaction_session_timeout": "a frozen process holds its row locks for ever",
}


@probe("database", needs=Need.NOTHING)
def answers() -> Iterable[Finding]:
    """Say whether the database answers, which one it is, and how fast."""
    try:
        with connection.cursor() as cursor:
            began = time.monotonic()
            cursor.execute("SELECT 1")
            seconds = time.monotonic() - began
    except Exception as failure:  # noqa: BLE001 (a driver may raise anything; all mean the same)
        if db_connections.is_read_only(failure):
            yield READ_ONLY
            return
        yield error(
            f"the database does not answer: {str(failure).splitlines()[0][:200]}",
            "Orders can be neither taken nor carried on.",
            "Look at DATABASE_URL, at the server, and at the way to it.",
        )
        return
    yield _version()
    if seconds > SLOW_SECONDS:
        yield warning(
            f"the database took {seconds:.2f} s to answer",
            "Each step costs a few statements, and each of them takes at least that long.",
            "Look at the load of the server and at the network between.",
        )


@probe("database")
def takes_writes() -> Iterable[Finding]:
    """Say whether the database can be written to; a standby answers, too."""
    try:
        db_connections.require_writable()
    except DatabaseError as failure:
        if not db_connections.is_read_only(failure):
            raise
        yield READ_ONLY
        return
    yield ok("the database can be written to")


def _version() -> Finding:
    if not dialect.is_postgres():
        version = dialect.fetch("SELECT sqlite_version()")[0][0]
        return ok(f"SQLite {version} answers")
    number = int(dialect.fetch("SHOW server_version_num")[0][0])
    name = dialect.fetch("SHOW server_version")[0][0]
    if number < OLDEST_POSTGRES:
        return error(
            f"PostgreSQL is {name}",
            "Django 5.2 needs 14 or newer.",
            "Upgrade the server.",
        )
    return ok(f"PostgreSQL {name} answers")


@probe("database", needs=Need.DATABASE)
def holds_every_name() -> Iterable[Finding]:
    """Look at the encoding, by which a database lacks letters of people's names."""
    if encoding := foreign_encoding(connection):
        yield error(
            f"the database's encoding is {encoding}",
            "The first name that it lacks a letter of is a server error.",
            f"Make it anew with `createdb -E {UTF8} -T template0`, and copy the data.",
        )


@probe("database", needs=Need.DATABASE)
def keeps_what_it_confirms() -> Iterable[Finding]:
    """Look at the settings of PostgreSQL by which a committed order could be lost."""
    if not dialect.is_postgres():
        return
    bad = [
        error(f"{name} is {value}", f"Switched off, {why}.", f"Set {name} = {wanted}.")
        for name, (wanted, why) in _DURABLE.items()
        if (value := _shown(name)) != wanted
    ]
    if _shown("synchronous_commit") == "off":
        bad.append(
            error(
                "synchronous_commit is off",
                "Orders that were accepted in the last moments before a crash are gone, and "
                "effects of theirs stay.",
                "Set synchronous_commit = on, at least for this user.",
            )
        )
    yield from bad or [ok("what is committed survives a crash of the machine")]


@probe("database", needs=Need.DATABASE)
def isolates_as_the_store_expects() -> Iterable[Finding]:
    """Look at the isolation level that this connection really has."""
    if dialect.is_postgres() and (level := _shown("transaction_isolation")) != "read committed":
        yield error(
            f"transactions are {level}",
            "The store locks rows and reads them in a later statement, which must see what was "
            "committed meanwhile.",
            "Set default_transaction_isolation = 'read committed' for this user and database.",
        )


@probe("database", needs=Need.DATABASE)
def limits_what_hangs() -> Iterable[Finding]:
    """Look at the time limits that this connection really has."""
    if not dialect.is_postgres():
        return
    missing = [
        warning(
            f"{name} is 0, which is no limit",
            f"Without one {why}.",
            "Leave OPTIONS['options'] as it is, and have a pooler let it through; or set it for "
            "the user: ALTER ROLE ... SET.",
        )
        for name, why in _LIMITS.items()
        if _shown(name) == "0"
    ]
    yield from missing or [ok("statements, lock waits and idle transactions have a limit")]


@probe("database", needs=Need.DATABASE)
def has_room_for_connections() -> Iterable[Finding]:
    """Compare the connections in use, and those the workers may need, with what there is."""
    if not dialect.is_postgres():
        return
    most = int(_shown("max_connections")) - int(_shown("superuser_reserved_connections"))
    used = int(
        dialect.fetch(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        )[0][0]
    )
    needed = int(sas.agent_slots) + OTHER_CONNECTIONS
    why = "A process that gets no connection does nothing, and its messages wait."
    remedy = "Raise max_connections, put PgBouncer between, or run fewer processes."
    if used >= CROWDED * most:
        yield warning(f"{used} of {most} connections are in use", why, remedy)
    elif needed > most:
        yield warning(
            f"{most} connections are allowed, and {int(sas.agent_slots)} agent processes with "
            f"everything else may need {needed}",
            why,
            remedy,
        )
    else:
        yield ok(f"{used} of {most} connections are in use")


@probe("database", needs=Need.DATABASE)
def clocks_agree() -> Iterable[Finding]:
    """Compare this machine's clock with the database's, which decides about deadlines."""
    began = time.monotonic()
    theirs = dialect.read_clock()
    ours = datetime.now(UTC)
    # The answer was on its way for a part of that time.
    on_its_way = timedelta(seconds=time.monotonic() - began)
    apart = abs(ours - theirs)
    if apart > SKEW + on_its_way:
        yield warning(
            f"this machine's clock and the database's are {apart.total_seconds():.0f} s apart",
            "Deadlines follow the database's clock and are safe; log lines, tokens' dates and "
            "Celery Beat follow this one.",
            "Run a time service (NTP) on both.",
        )
    else:
        yield ok("the clocks of this machine and of the database agree")


@probe("database", needs=Need.DATABASE)
def sqlite_is_set_up() -> Iterable[Finding]:
    """Look at the pragmas SQLite really has, and at what it is used for."""
    if dialect.is_postgres():
        return
    mode = str(dialect.fetch("PRAGMA journal_mode")[0][0]).lower()
    if mode not in ("wal", "memory"):
        yield warning(
            f"SQLite's journal mode is {mode}",
            "Readers hold up writers.",
            'Set OPTIONS["init_command"] to "PRAGMA journal_mode=WAL;", on a local disk.',
        )
    waits = int(dialect.fetch("PRAGMA busy_timeout")[0][0])
    if waits < 5000:
        yield warning(
            f"SQLite waits {waits / 1000:g} s for its lock",
            'Under load writers give up with "database is locked".',
            'Set OPTIONS["timeout"] to 20.',
        )
    if not settings.DEBUG:
        yield warning(
            "the database is SQLite, and DEBUG is off",
            "It is one file on one machine with one writer at a time, and the last commits "
            "before a power cut may be taken back.",
            "Use PostgreSQL in production.",
        )


@probe("migrations", needs=Need.DATABASE)
def migrations_are_applied() -> Iterable[Finding]:
    """Compare the tables with the code."""
    names = unapplied()
    if names:
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield error(
            ngettext(
                "%(n)d migration is not applied: %(names)s",
                "%(n)d migrations are not applied: %(names)s",
                len(names),
            )
            % {"n": len(names), "names": f"{', '.join(names[:3])}{more}"},
            "The code reads and writes columns that are not there.",
            "Run `manage.py migrate` before you start it.",
        )
        return
    yield ok("every migration is applied")
    loader = MigrationLoader(connection)
    known = set(loader.disk_migrations)
    apps = {app for app, _ in known}
    newer = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in apps and (app, name) not in known
    )
    if newer:
        yield info(
            f"the database knows migrations that this code has not: {', '.join(newer[:3])}",
            "It is newer than this code, as during a deployment.",
            "Nothing, once every process runs the newer code.",
        )


def _shown(name: str) -> str:
    return str(dialect.fetch(f"SHOW {name}")[0][0])
