"""Tables: how large they are, and whether old rows are pruned."""

from collections.abc import Iterable

from workers.conf import FOR_GOOD_DAYS, sas
from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.definitions.sentences import say_names
from workers.ops.doctor.finding import Finding, error, info, warning
from workers.ops.doctor.registry import probe
from workers.store import old_processes
from workers.store.db import dialect, sequences

#: Rows from which on it should be decided whether the journal is kept for good.
MANY_ROWS = 10_000_000
#: Dead rows that are not vacuumed yet, in all and as a share of the table.
MANY_DEAD, DEAD_SHARE = 100_000, 0.3
MANY_HELD_BACK = 1000
SHOWN = 5
#: PostgreSQL 15: ``server_version_num``.
FIRST_WITH_COLLATION_VERSION = 150_000


@probe("tables")
def sizes() -> Iterable[Finding]:
    """Report the largest tables, and those with many dead rows."""
    if not dialect.is_postgres():
        pages, size = (
            dialect.fetch(f"PRAGMA {name}")[0][0] for name in ("page_count", "page_size")
        )
        yield info(_("the database has %(size)s", size=_bytes(pages * size)))
        return
    tables = dialect.fetch(
        "SELECT s.relname, pg_total_relation_size(s.relid), greatest(c.reltuples, 0)::bigint,"
        " s.n_dead_tup FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid"
        " WHERE s.schemaname = current_schema() ORDER BY 2 DESC"
    )
    largest = ", ".join(f"{name} {_bytes(size)}" for name, size, *_ in tables[:SHOWN])
    yield info(_("the largest tables: %(largest)s", largest=largest))
    yield from _journal(
        {name: rows for name, _size, rows, _dead in tables}.get("workers_journal", 0)
    )
    for name, _size, rows, dead in tables:
        if dead > MANY_DEAD and dead > DEAD_SHARE * (rows + dead):
            yield warning(
                _(
                    "%(name)s has %(dead)s dead rows and %(rows)s live ones",
                    name=name,
                    dead=dead,
                    rows=rows,
                ),
                _("Every scan reads them too."),
                _("Check that autovacuum runs, and that no transaction stays open for hours."),
            )


def _journal(rows: int) -> Iterable[Finding]:
    if rows > MANY_ROWS and sas.keep_journal_days >= FOR_GOOD_DAYS:
        yield warning(
            _("the journal has about %(rows)s rows and is never pruned", rows=rows),
            _("It grows by some twenty rows an order."),
            _(
                "Set SAS_KEEP_JOURNAL_DAYS if nobody needs the oldest: see "
                '"Look after an installation" in the documentation.'
            ),
        )


@probe("tables")
def nothing_holds_pruning_back() -> Iterable[Finding]:
    """Count the old processes that are kept whole because of an alert or a submitter."""
    count = old_processes.JOURNALS.count(are_held_back=True)
    if count >= MANY_HELD_BACK:
        yield warning(
            ngettext(
                "%(n)d old process keeps its journal",
                "%(n)d old processes keep their journal",
                count,
            ),
            _("Each has an open alert, or a submitter that was not notified of it."),
            _("Acknowledge the alerts; `manage.py sas sinks list --state undeliverable`."),
        )


@probe("tables", applies=dialect.is_postgres)
def sequences_are_ahead() -> Iterable[Finding]:
    """Look for sequences that give out ids which rows of their tables have already."""
    behind = [
        f"{table}.{column}"
        for table, column, last, highest in sequences.positions()
        if highest is not None and last < highest
    ]
    if behind:
        yield error(
            _("sequences behind their tables: %(names)s", names=say_names(behind)),
            _(
                "New rows are refused until the sequences pass the highest value: no order is"
                " accepted."
            ),
            _(
                "Set each to its table's highest value with setval: see "
                '"Restore a database" in the documentation.'
            ),
        )


@probe("tables", applies=dialect.is_postgres)
def collation_is_that_of_the_indexes() -> Iterable[Finding]:
    """Compare the version of the collation with the one that the indexes were built with."""
    if int(dialect.fetch("SHOW server_version_num")[0][0]) < FIRST_WITH_COLLATION_VERSION:
        return
    rows = dialect.fetch(
        "SELECT datcollversion, pg_database_collation_actual_version(oid) FROM pg_database"
        " WHERE datname = current_database()"
    )
    for built, actual in rows:
        if built is not None and built != actual:
            yield error(
                _(
                    "the database's collation has version %(actual)s, its indexes were built with"
                    " %(built)s",
                    actual=actual or "?",
                    built=built,
                ),
                _("Unique texts, such as submission keys, may be stored twice, and not be found."),
                _("Run `REINDEX DATABASE`, then `ALTER DATABASE ... REFRESH COLLATION VERSION`."),
            )


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} TB"
