"""Many rows at once: an order that exists, copied by the database itself."""

import uuid

from django.db import connection

#: Orders of one statement.
CHUNK = 50_000


def copy(process_id: int, copies: int) -> None:
    """Copy a process, its steps and its journal so many times (PostgreSQL).

    Columns are those that the tables have; only keys differ.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        for begin in range(0, copies, CHUNK):
            _copy(cursor, process_id, min(CHUNK, copies - begin))
        cursor.execute("RESET statement_timeout")


def _copy(cursor, process_id: int, copies: int) -> None:
    cursor.execute(
        "SELECT setval('workers_process_id_seq', nextval('workers_process_id_seq') + %s) - %s",
        [copies, copies],
    )
    before = cursor.fetchone()[0]
    number = "nextval('{table}_id_seq')"
    mark = uuid.uuid4().hex
    for table, replaced in (
        ("workers_process", {"id": f"{before} + n", "uid": "gen_random_uuid()"}),
        (
            "workers_step",
            {
                "id": number,
                "process_id": f"{before} + n",
                "idempotency_key": f"'{mark}:' || n || ':' || position || ':1'",
            },
        ),
        (
            "workers_journal",
            # Of the process alone: a step's rows name a step that is not theirs any more.
            {"id": number, "process_id": f"{before} + n"},
        ),
    ):
        names = _columns(cursor, table)
        values = [replaced.get(name, f'"{name}"').format(table=table) for name in names]
        of = "id" if table == "workers_process" else "process_id"
        only = " AND step_id IS NULL" if table == "workers_journal" else ""
        quoted = ", ".join(f'"{name}"' for name in names)
        cursor.execute(
            f"INSERT INTO {table} ({quoted}) SELECT {', '.join(values)}"
            f" FROM {table}, generate_series(1, {copies}) AS n WHERE {of} = %s{only}"
            # Oldest first and step by step, as time would have written them.
            f" ORDER BY n, id",
            [process_id],
        )


def _columns(cursor, table: str) -> list[str]:
    cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = %s"
        " AND table_schema = current_schema() AND is_generated = 'NEVER'"
        " ORDER BY ordinal_position",
        [table],
    )
    return [row[0] for row in cursor.fetchall()]
