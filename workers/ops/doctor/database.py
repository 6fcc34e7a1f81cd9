"""The database: whether it answers, keeps what it confirmed, and limits what hangs."""

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db import Error as DjangoError
from django.db.migrations.loader import MigrationLoader

from workers.celery import database_login
from workers.checks import session, tables
from workers.conf import sas
from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.definitions.sentences import say_names
from workers.exceptions import first_line
from workers.ops.doctor.finding import Finding, error, info, ok, warning
from workers.ops.doctor.registry import EXAMINED, Need, When, probe
from workers.runtime import db_connections
from workers.store import live_workers
from workers.store.db import dialect, prepared_plans

#: Django 5.2's own lower bound.
OLDEST_POSTGRES = 140_000
UTF8 = "UTF8"
#: An answer slower than this slows down every order.
SLOW_SECONDS = 0.2
SKEW = timedelta(seconds=2)
#: Prefix of psycopg's names of prepared statements; a pooler renames those that it knows.
_UNTOUCHED = "_pg3_"
#: Share of the connections from which on a peak may fail.
CROWDED = 0.8
#: Connections beside the agents': schedulers, web threads, consumer, Beat, timers, people.
OTHER_CONNECTIONS = 20
NO_ORDERS = _("Orders can be neither accepted nor continued.")
READ_ONLY = error(
    _("the database is read-only"),
    NO_ORDERS,
    _("Point DATABASE_URL to the primary; if it does, reset default_transaction_read_only there."),
)
_DURABLE = {
    "fsync": ("on", _("commits may be lost when the machine crashes")),
    "full_page_writes": ("on", _("a page half written in a power failure is lost")),
}
#: Limit in milliseconds, and what hangs without it.
_LIMITS = {
    "statement_timeout": (15000, _("a hanging statement keeps its worker and its locks")),
    "lock_timeout": (
        5000,
        _("sessions waiting for a row locked by a frozen process hang"),
    ),
    "idle_in_transaction_session_timeout": (
        30000,
        _("a frozen process holds its row locks for ever"),
    ),
}


@probe("database", needs=Need.NOTHING, when=EXAMINED | When.DEPLOY)
def answers() -> Iterable[Finding]:
    """Say whether the database answers, which one it is, and how fast."""
    try:
        with connection.cursor() as cursor:
            began = time.monotonic()
            cursor.execute("SELECT 1")
            seconds = time.monotonic() - began
    except Exception as failure:  # noqa: BLE001 (a driver may raise anything; all mean the same)
        yield replace(_unusable(failure), check="workers.E019")
        return
    yield _version()
    if seconds > SLOW_SECONDS:
        yield warning(
            _("the database took %(seconds).2f s to answer", seconds=seconds),
            _("Each step costs a few statements, and each of them takes at least that long."),
            _("Check the server's load and the network between."),
        )


@probe("database")
def takes_writes() -> Iterable[Finding]:
    """Check that the database can be written to: a standby answers, too."""
    try:
        db_connections.require_writable()
    except DatabaseError as failure:
        if not db_connections.is_read_only(failure):
            raise
        yield _unusable(failure)
        return
    yield ok(_("the database can be written to"))


def _unusable(failure: Exception) -> Finding:
    text = first_line(failure)[:200]
    if isinstance(failure, DjangoError) and database_login.refusal(failure):
        return error(
            _("the database cannot be used: %(failure)s", failure=text),
            NO_ORDERS,
            _(
                "Correct DATABASE_URL; or create what it names, and grant this user read and"
                " write access."
            ),
        )
    if db_connections.is_read_only(failure):
        return READ_ONLY
    return error(
        _("the database does not answer: %(failure)s", failure=text),
        NO_ORDERS,
        _("Check DATABASE_URL, the server, and the network between."),
    )


def _version() -> Finding:
    if not dialect.is_postgres():
        version = dialect.fetch("SELECT sqlite_version()")[0][0]
        return ok(_("SQLite %(version)s answers", version=version))
    number = int(dialect.fetch("SHOW server_version_num")[0][0])
    name = dialect.fetch("SHOW server_version")[0][0]
    if number < OLDEST_POSTGRES:
        return error(
            _("PostgreSQL is %(name)s", name=name),
            _("Django 5.2 needs 14 or newer."),
            _("Upgrade the server."),
        )
    return ok(_("PostgreSQL %(name)s answers", name=name))


@probe("database", needs=Need.DATABASE, when=EXAMINED | When.START, applies=dialect.is_postgres)
def holds_every_name() -> Iterable[Finding]:
    """Check that the encoding has the letters of all people's names."""
    if (encoding := _setting("server_encoding")) != UTF8:
        yield error(
            _("the database's encoding is %(encoding)s", encoding=encoding),
            _("The first name with a character it cannot store causes a server error."),
            _(
                "Recreate it with `createdb -E %(encoding)s -T template0`, and copy the data.",
                encoding=UTF8,
            ),
            check="workers.E021",
        )


@probe("database", needs=Need.DATABASE, when=When.ASK | When.START)
def is_of_a_release() -> Iterable[Finding]:
    """Look for migrations of a development version."""
    if name := tables.foreign_history(connection):
        yield error(
            _(
                "the database was made by a development version: it has %(name)s, which no"
                " release has",
                name=name,
            ),
            _("It cannot be upgraded: `migrate` would fail in the middle."),
            _("Make a new database and run `manage.py migrate` there."),
            check="workers.E026",
        )


@probe("database", needs=Need.DATABASE, applies=dialect.is_postgres)
def keeps_what_it_confirms() -> Iterable[Finding]:
    """Look for settings of PostgreSQL that could lose a committed order."""
    bad = [
        error(
            _("%(name)s is %(value)s", name=name, value=value),
            _("Switched off, %(why)s.", why=why),
            _("Set %(name)s = %(wanted)s.", name=name, wanted=required),
        )
        for name, (required, why) in _DURABLE.items()
        if (value := _setting(name)) != required
    ]
    if _setting("synchronous_commit") == "off":
        bad.append(
            error(
                _("synchronous_commit is off"),
                _("A crash loses the orders accepted just before it, while their effects remain."),
                _("Set synchronous_commit = on, at least for this user."),
            )
        )
    yield from bad or [ok(_("commits survive a crash of the machine"))]


@probe("database", needs=Need.DATABASE, applies=dialect.is_postgres)
def a_failover_loses_nothing() -> Iterable[Finding]:
    """Check that a standby that may be promoted has every commit."""
    standbys = int(dialect.fetch("SELECT count(*) FROM pg_stat_replication")[0][0])
    if standbys and not _setting("synchronous_standby_names"):
        yield warning(
            _("no standby confirms commits: synchronous_standby_names is empty"),
            _(
                "A standby promoted while it lags lacks accepted orders and records of calls."
                " After a failover nothing is claimed until an operator has checked."
            ),
            _(
                "Set synchronous_standby_names, such as 'ANY 1 (*)' with two standbys; or see"
                ' "Restore a database" in the documentation for what to do then.'
            ),
        )


@probe("database", needs=Need.DATABASE, when=EXAMINED | When.START, applies=dialect.is_postgres)
def isolates_as_the_store_expects() -> Iterable[Finding]:
    """Check the isolation level, and the form of dates, that this connection really has."""
    for name, value, required, why in session.unfit(connection):
        is_isolation = name == session.ISOLATION
        yield error(
            _("transactions are %(level)s", level=value)
            if is_isolation
            else _("%(name)s is %(value)s", name=name, value=value),
            why,
            _(
                "Set %(name)s = '%(required)s' for this user and database, and end its sessions.",
                name=name,
                required=required,
            ),
            check="workers.E024",
        )


@probe("database", needs=Need.DATABASE, applies=dialect.is_postgres)
def limits_what_hangs() -> Iterable[Finding]:
    """Check the time limits that this connection really has."""
    line = " ".join(f"-c {name}={limit}" for name, (limit, _why) in _LIMITS.items())
    missing = [
        warning(
            _("%(name)s is 0, which is no limit", name=name),
            _("Without one %(why)s.", why=why),
            _(
                'Add to DATABASES["default"]: "OPTIONS": {"options": "%(line)s"}. If it is there, '
                "have the pooler let it through, or set it for the user: ALTER ROLE ... SET "
                "%(name)s = %(limit)s.",
                line=line,
                name=name,
                limit=limit,
            ),
        )
        for name, (limit, why) in _LIMITS.items()
        if _setting(name) == "0"
    ]
    yield from missing or [ok(_("statements, lock waits and idle transactions have a limit"))]


@probe("database", needs=Need.DATABASE, applies=dialect.is_postgres)
def has_room_for_connections() -> Iterable[Finding]:
    """Compare the connections in use, and those the workers may need, with the limit."""
    most = int(_setting("max_connections")) - int(_setting("superuser_reserved_connections"))
    used = int(
        dialect.fetch(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        )[0][0]
    )
    processes = live_workers.processes()
    needed = processes + OTHER_CONNECTIONS
    why = _("A process that gets no connection does nothing, and its messages wait.")
    remedy = _("Raise max_connections, add PgBouncer, or run fewer processes.")
    if used >= CROWDED * most:
        yield warning(
            _("%(used)s of %(most)s connections are in use", used=used, most=most), why, remedy
        )
    elif needed > most:
        yield warning(
            _(
                "%(most)s connections are allowed, and %(processes)s worker processes with "
                "everything else may need %(needed)s",
                most=most,
                processes=processes,
                needed=needed,
            ),
            why,
            remedy,
        )
    else:
        yield ok(_("%(used)s of %(most)s connections are in use", used=used, most=most))


@probe("database", needs=Need.DATABASE, applies=dialect.is_postgres)
def keeps_plans_that_stay() -> Iterable[Finding]:
    """Look for a pooler that may drop the plans that a connection keeps."""
    with transaction.atomic(), prepared_plans.prepared():
        pid = int(dialect.fetch("SELECT pg_backend_pid()")[0][0])
        names = [name for (name,) in dialect.fetch("SELECT name FROM pg_prepared_statements")]
    # A pooler reports a pid of its own at login, and renames the prepared statements that it knows.
    if prepared_plans.raw(connection).info.backend_pid == pid:
        yield ok(_("connections lead to the server itself"))
    elif sas.kept_plans and any(name.startswith(_UNTOUCHED) for name in names):
        yield warning(
            _("a pooler stands before the database and does not support prepared statements"),
            _("If it assigns connections per transaction, few orders get through."),
            _("Set SAS_KEPT_PLANS=0, or the pooler's max_prepared_statements (PgBouncer 1.22)."),
        )
    else:
        yield ok(_("a pooler stands before the database and keeps prepared statements"))


@probe("database", needs=Need.DATABASE)
def clocks_agree() -> Iterable[Finding]:
    """Compare this machine's clock with the database's, which decides about deadlines."""
    began = time.monotonic()
    theirs = dialect.read_clock()
    ours = datetime.now(UTC)
    # The answer was under way for a part of that time.
    under_way = timedelta(seconds=time.monotonic() - began)
    apart = abs(ours - theirs)
    if apart > SKEW + under_way:
        yield warning(
            _(
                "this machine's clock and the database's are %(seconds).0f s apart",
                seconds=apart.total_seconds(),
            ),
            _(
                "Deadlines follow the database's clock and are safe; log lines, tokens' dates and "
                "Celery Beat follow this one."
            ),
            _("Run a time service (NTP) on both."),
        )
    else:
        yield ok(_("the clocks of this machine and of the database agree"))


@probe("database", needs=Need.DATABASE, applies=lambda: not dialect.is_postgres())
def sqlite_is_set_up() -> Iterable[Finding]:
    """Check the pragmas that SQLite really has, and that it is not used in production."""
    mode = str(dialect.fetch("PRAGMA journal_mode")[0][0]).lower()
    if mode not in ("wal", "memory"):
        yield warning(
            _("SQLite's journal mode is %(mode)s", mode=mode),
            _("Readers block writers."),
            _('Set OPTIONS["init_command"] to "PRAGMA journal_mode=WAL;", on a local disk.'),
        )
    waits = int(dialect.fetch("PRAGMA busy_timeout")[0][0])
    if waits < 5000:
        yield warning(
            _("SQLite waits %(seconds)g s for its lock", seconds=waits / 1000),
            _('Under load writers fail with "database is locked".'),
            _('Set OPTIONS["timeout"] to 20.'),
        )
    if not settings.DEBUG:
        yield warning(
            _("the database is SQLite, and DEBUG is off"),
            _(
                "It is one file on one machine with one writer at a time, and a power failure"
                " may lose the last commits."
            ),
            _("Use PostgreSQL in production."),
        )


@probe("migrations", needs=Need.DATABASE, when=EXAMINED | When.DEPLOY)
def migrations_are_applied() -> Iterable[Finding]:
    """Compare the applied migrations with the code's."""
    names = tables.unapplied()
    if names:
        yield error(
            ngettext(
                "%(n)d migration is not applied: %(names)s",
                "%(n)d migrations are not applied: %(names)s",
                len(names),
                names=say_names(names),
            ),
            _("The code uses columns that do not exist yet."),
            _("Run `manage.py migrate` before you start it."),
            check="workers.E020",
        )
        return
    yield ok(_("every migration is applied"))
    loader = MigrationLoader(connection)
    ours = set(loader.disk_migrations)
    apps = {app for app, _ in ours}
    newer = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in apps and (app, name) not in ours
    )
    if newer:
        yield info(
            _(
                "the database has migrations this code lacks: %(names)s",
                names=say_names(newer),
            ),
            _("It is newer than this code, as during a deployment."),
            _("No action needed once every process runs the newer code."),
        )


def _setting(name: str) -> str:
    return str(dialect.fetch(f"SHOW {name}")[0][0])
