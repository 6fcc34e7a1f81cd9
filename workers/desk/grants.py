"""The rights that a worker's login needs on the desk's tables."""

from workers.checks.grants import ALL, KEPT, NEEDED

NEEDED.update(
    {
        "desk_delivery": KEPT,
        **dict.fromkeys(("desk_gauge", "desk_incident", "desk_minute", "desk_proberesult"), ALL),
        "desk_release": ("SELECT", "INSERT"),
        "desk_route": ("SELECT", "UPDATE"),
        **dict.fromkeys(("desk_bulkitem", "desk_bulkjob"), ("SELECT", "UPDATE", "DELETE")),
        "desk_note": ("SELECT", "DELETE"),
    }
)
