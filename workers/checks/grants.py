"""What a worker's login must be allowed, asked before it starts.

A right that is missing would let the worker start, and have duties fail one by one: an upgrade
whose grants were forgotten would mute every alarm.
"""

from django.db import connection

from workers.conf import FOR_GOOD_DAYS, sas

ALL = ("SELECT", "INSERT", "UPDATE", "DELETE")
KEPT = ("SELECT", "INSERT", "UPDATE")
#: By table what a worker does there, to some column at least; the desk adds its own.
NEEDED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("workers_lease", "workers_process", "workers_step"), KEPT),
    **dict.fromkeys(("workers_alert", "workers_sink", "workers_live", "workers_worker"), ALL),
    "workers_journal": ("SELECT", "INSERT", "DELETE"),
    "workers_hold": ("SELECT", "INSERT"),
    "workers_installation": ("SELECT", "UPDATE"),
    "workers_flow": ("SELECT", "UPDATE"),
    **dict.fromkeys(("workers_receivedwebhook", "workers_undorequest"), ("SELECT", "DELETE")),
}


def problem() -> str | None:
    """Return which right this login lacks to work, and what to do; None: it has all, or no role."""
    if connection.vendor != "postgresql":
        return None
    wanted = [(table, right) for table, rights in NEEDED.items() for right in rights]
    if sas.keep_processes_days < FOR_GOOD_DAYS:
        wanted += [(table, "DELETE") for table in ("workers_process", "workers_step")]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, w.table_name, w.wanted FROM unnest(%s::text[], %s::text[])"
            " AS w(table_name, wanted) WHERE NOT CASE WHEN w.wanted = 'DELETE'"
            " THEN has_table_privilege(w.table_name, w.wanted)"
            " ELSE has_any_column_privilege(w.table_name, w.wanted) END"
            " ORDER BY w.table_name, w.wanted",
            [[table for table, _ in wanted], [right for _, right in wanted]],
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
