"""Many orders like a few that exist, copied by the database itself (PostgreSQL).

Rows keep what they say; what differs is whose they are: keys, numbers, customers, instants.
Older copies come first, as time would have written them.
"""

from collections.abc import Iterator, Sequence

from django.db import connection, transaction

from benchmarks.population.plan import CHUNK, begin, draw
from benchmarks.population.specimens import Specimen

#: Dead letters among so many orders: one.
DEAD_LETTERS = 2_000
_NEW_PROCESS = "(c.process_base + q.rank)"
_NEW_UID = "c.stem || lpad(to_hex(q.rank), 8, '0')"
_STEP = "(c.step_base + {}.rank)"
#: Table -> (FROM, beside the rows ``c`` to make; what replaces a column of the row copied).
_TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "workers_process": (
        "workers_process s JOIN specimen_process q ON q.id = s.id",
        {
            "id": _NEW_PROCESS,
            "uid": f"({_NEW_UID})::uuid",
            "subject": "regexp_replace(s.subject, '[0-9]+$', c.number::text)",
            "lane": "CASE WHEN s.lane LIKE '%%@%%' THEN c.email ELSE s.lane END",
            "input": "CASE WHEN q.is_order THEN s.input || jsonb_build_object('number', c.number,"
            " 'id', c.public_id, 'customer', jsonb_build_object('name', c.name, 'email', c.email,"
            " 'address', c.address)) ELSE s.input || jsonb_build_object('order', c.number) END",
        },
    ),
    "workers_attribute": (
        "workers_attribute s JOIN specimen_process q ON q.id = s.process_id",
        {
            "process_id": _NEW_PROCESS,
            "value": "CASE s.name WHEN 'order' THEN c.number::text ELSE s.value END",
        },
    ),
    "workers_step": (
        "workers_step s JOIN specimen_process q ON q.id = s.process_id"
        " JOIN specimen_step t ON t.id = s.id LEFT JOIN specimen_step u ON u.id = s.undoes_id",
        {
            "id": _STEP.format("t"),
            "process_id": _NEW_PROCESS,
            "undoes_id": _STEP.format("u"),
            "idempotency_key": f"replace(s.idempotency_key, q.hex, {_NEW_UID})",
        },
    ),
    "workers_live": (
        "workers_live s JOIN specimen_step t ON t.id = s.step_id",
        {"step_id": _STEP.format("t")},
    ),
    "workers_journal": (
        "workers_journal s JOIN specimen_process q ON q.id = s.process_id"
        " LEFT JOIN specimen_step t ON t.id = s.step_id",
        {"process_id": _NEW_PROCESS, "step_id": _STEP.format("t")},
    ),
    "workers_sink": (
        "workers_sink s JOIN specimen_process q ON q.id = s.process_id",
        {"process_id": _NEW_PROCESS},
    ),
    "workers_alert": (
        "workers_alert s JOIN specimen_process q ON q.id = s.process_id"
        " LEFT JOIN specimen_step t ON t.id = s.step_id",
        {
            "process_id": _NEW_PROCESS,
            "step_id": _STEP.format("t"),
            "cause": f"replace(s.cause, ':process:' || q.id, ':process:' || {_NEW_PROCESS})",
            "message": "regexp_replace(s.message, '(O|o)rder [0-9]+', '\\1rder ' || c.number)",
        },
    ),
    "orders_order": (
        "orders_order s JOIN specimen_process q ON q.id = s.process_id",
        {
            "number": "c.number",
            "public_id": "c.public_id",
            "secret": "substr(md5(c.stem), 1, 22)",
            "process_id": _NEW_PROCESS,
            "submission_key": "'key-' || c.stem",
            "reference": "CASE WHEN c.number %% 3 = 0 THEN 'PO-' || c.number ELSE '' END",
            "customer_name": "c.name",
            "customer_email": "c.email",
            "customer_address": "c.address",
        },
    ),
    "orders_orderline": (
        "orders_orderline s JOIN orders_order o ON o.number = s.order_id"
        " JOIN specimen_process q ON q.id = o.process_id",
        {"order_id": "c.number"},
    ),
    "orders_reservation": (
        "orders_reservation s JOIN orders_order o ON o.number = s.order_id"
        " JOIN specimen_process q ON q.id = o.process_id",
        {"order_id": "c.number", "key": f"replace(s.key, q.hex, {_NEW_UID})"},
    ),
}
#: Tables whose keys are counted by a sequence, and have none of the copy's own.
_COUNTED = {
    *("workers_journal", "workers_sink", "workers_alert"),
    *("orders_orderline", "orders_reservation"),
}


def copy(specimens: Sequence[Specimen], orders: int, seed: int) -> Iterator[str]:
    """Make so many orders like the specimens; say how far it is.

    Indexes are made anew afterwards, but for those of primary keys.  Where the database lets us,
    the foreign keys are not looked up for every row: they are right by construction.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SET lock_timeout = 0")
        cursor.execute("SET idle_in_transaction_session_timeout = 0")
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("SET work_mem = '256MB'")
        cursor.execute("SET maintenance_work_mem = '512MB'")
        cursor.execute("SELECT usesuper FROM pg_user WHERE usename = current_user")
        if cursor.fetchone()[0]:
            cursor.execute("SET session_replication_role = replica")
        begin(cursor, specimens, orders, seed)
        indexes = _drop_indexes(cursor)
        for first in range(1, orders + 1, CHUNK):
            last = min(first + CHUNK - 1, orders)
            with transaction.atomic():
                draw(cursor, first, last)
                for table in _TABLES:
                    _copy(cursor, table)
                _dead_letters(cursor, first, last)
            yield f"{last} orders"
        for statement in indexes:
            cursor.execute(statement)
        yield f"{len(indexes)} indexes"
        _set_sequences(cursor)
        for setting in ("session_replication_role", "work_mem", "maintenance_work_mem"):
            cursor.execute(f"RESET {setting}")
        # What autovacuum does within the next minutes.
        cursor.execute("VACUUM ANALYZE" if connection.get_autocommit() else "ANALYZE")
        for setting in ("statement", "lock", "idle_in_transaction_session"):
            cursor.execute(f"RESET {setting}_timeout")
        cursor.execute("RESET synchronous_commit")
    yield "analyzed"


def _copy(cursor, table: str) -> None:
    source, replaced = _TABLES[table]
    if table in _COUNTED:
        replaced = {"id": f"nextval('{table}_id_seq')", **replaced}
    columns = _columns(cursor, table)
    values = [
        replaced.get(name)
        or (f's."{name}" + c.shift' if kind == "timestamp with time zone" else f's."{name}"')
        for name, kind in columns
    ]
    quoted = ", ".join(f'"{name}"' for name, _ in columns)
    of = "t.kind" if table == "workers_live" else "q.kind"
    keys = {"workers_live": "step_id", "workers_attribute": "process_id", "orders_order": "number"}
    key = keys.get(table, "id")
    cursor.execute(
        f"INSERT INTO {table} ({quoted}) SELECT {', '.join(values)}"
        f" FROM copied c JOIN ({source}) ON {of} = c.kind ORDER BY c.place, s.{key}"
        # A trigger has made them, unless it was left out.
        + (" ON CONFLICT DO NOTHING" if table == "workers_live" else ""),
        [],
    )


def _columns(cursor, table: str) -> list[tuple[str, str]]:
    cursor.execute(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s"
        " AND table_schema = current_schema() AND is_generated = 'NEVER'"
        " ORDER BY ordinal_position",
        [table],
    )
    return cursor.fetchall()


def _dead_letters(cursor, first: int, last: int) -> None:
    """Add messages that are no order: most were dealt with, some are open."""
    cursor.execute(
        "INSERT INTO orders_deadletter (state, received_at, message_id, client, properties, body,"
        " reasons, resolved_at, resolved_by, comment)"
        " SELECT CASE WHEN n %% 4 = 0 THEN 'open' ELSE 'discarded' END, c.at, 'message-' || n,"
        " 'acme', '{}', convert_to('{\"lines\": []}', 'UTF8'),"
        ' \'[{"field": "lines", "problem": "An order needs at least one line."}]\','
        " CASE WHEN n %% 4 = 0 THEN NULL ELSE c.at END,"
        " CASE WHEN n %% 4 = 0 THEN '' ELSE 'operator' END, ''"
        " FROM copied c CROSS JOIN LATERAL (SELECT c.place / %s AS n) d"
        " WHERE c.place %% %s = 0 AND c.place BETWEEN %s AND %s ORDER BY c.place",
        [DEAD_LETTERS, DEAD_LETTERS, first, last],
    )


def _drop_indexes(cursor) -> list[str]:
    """Drop all indexes but those of primary keys; return the statements that make them."""
    tables = [[*_TABLES, "orders_deadletter"]]
    cursor.execute(
        "SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),"
        " format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', conrelid::regclass, conname,"
        " pg_get_constraintdef(oid)) FROM pg_constraint"
        " WHERE contype = 'u' AND conrelid::regclass::text = ANY(%s)",
        tables,
    )
    unique = cursor.fetchall()
    for drop, _ in unique:
        cursor.execute(drop)
    cursor.execute(
        "SELECT format('DROP INDEX %%s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)"
        " FROM pg_index i WHERE NOT i.indisprimary AND i.indrelid::regclass::text = ANY(%s)",
        tables,
    )
    others = cursor.fetchall()
    for drop, _ in others:
        cursor.execute(drop)
    return [make for _, make in (*unique, *others)]


def _set_sequences(cursor) -> None:
    for table, key in (
        ("workers_process", "id"),
        ("workers_step", "id"),
        ("orders_order", "number"),
    ):
        cursor.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', '{key}'),"
            f" (SELECT max({key}) FROM {table}))"
        )
