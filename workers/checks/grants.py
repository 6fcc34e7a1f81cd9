"""Rights that a worker's login needs, checked before it starts.

Without a right the worker would start, and duties would fail one by one: an upgrade with forgotten
grants would mute every alarm.
"""

from django.db import connection

from workers.conf import FOR_GOOD_DAYS, sas

ALL = ("SELECT", "INSERT", "UPDATE", "DELETE")
KEPT = ("SELECT", "INSERT", "UPDATE")
#: A worker's rights by table, on some column at least; the desk adds its own.
NEEDED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("workers_lease", "workers_process", "workers_step"), KEPT),
    **dict.fromkeys(("workers_child", "workers_childgroup"), KEPT),
    **dict.fromkeys(("workers_alert", "workers_sink", "workers_live", "workers_worker"), ALL),
    **dict.fromkeys(("workers_limitedkey", "workers_schedule"), ALL),
    "workers_journal": ("SELECT", "INSERT", "DELETE"),
    **dict.fromkeys(("workers_attribute", "workers_hold", "workers_spec"), ("SELECT", "INSERT")),
    "workers_installation": ("SELECT", "UPDATE"),
    "workers_flow": ("SELECT", "UPDATE"),
    **dict.fromkeys(("workers_receivedwebhook", "workers_undorequest"), ("SELECT", "DELETE")),
}


def problem() -> str | None:
    """Return which right this login lacks, and what to do; None: it has all, or SQLite has none."""
    if connection.vendor != "postgresql":
        return None
    needed = [(table, right) for table, rights in NEEDED.items() for right in rights]
    if sas.keep_processes_days < FOR_GOOD_DAYS:
        tables = ("attribute", "child", "childgroup", "process", "step")
        needed += [(f"workers_{table}", "DELETE") for table in tables]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, n.table_name, n.needed FROM unnest(%s::text[], %s::text[])"
            " AS n(table_name, needed) WHERE NOT CASE WHEN n.needed = 'DELETE'"
            " THEN has_table_privilege(n.table_name, n.needed)"
            " ELSE has_any_column_privilege(n.table_name, n.needed) END"
            " ORDER BY n.table_name, n.needed",
            [[table for table, _ in needed], [right for _, right in needed]],
        )
        missing = cursor.fetchall()
    if not missing:
        return None
    role, table, right = missing[0]
    more = f" ({len(missing) - 1} more)" if len(missing) > 1 else ""
    return (
        f"The login {role} lacks the right to {right} {table}{more}. Run the grants of"
        ' "Limit what processes may do" in the documentation as the owner, then start again.'
    )
