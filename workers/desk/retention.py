"""How long the desk keeps its rows."""

from workers.desk.store import old_rows
from workers.operate.retention import of_tables, register

for _pruner in (
    of_tables(
        "deliveries",
        "what routes were told long ago of incidents that are resolved",
        old_rows.DELIVERIES,
    ),
    of_tables("jobs", "jobs that ended long ago", old_rows.JOBS),
    of_tables(
        "figures",
        "figures of minutes and hours, each as long as its span is kept",
        *old_rows.FIGURES,
    ),
    # After their deliveries and the engine's alerts, which refer to them.
    of_tables("incidents", "incidents resolved long ago, with their notes", old_rows.INCIDENTS),
):
    register(_pruner)
