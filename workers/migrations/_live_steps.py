"""Narrow rows by which steps are found, so that a step's changes touch no index.

Triggers keep them equal to the steps, whatever writes those.

Part of migration 0001, and frozen like it: another migration changes a trigger.  For some changes
SQLite creates a table anew, without its triggers: a migration that causes that for steps executes
``keepers("sqlite")`` again.
"""

STATES = ("pending", "processing", "error")
LIVE = f"{STATES}"
#: Whether two values that may be null differ.
DIFFERS = {"postgresql": "IS DISTINCT FROM", "sqlite": "IS NOT"}
COLUMNS = "step_id, agent, state, turn, not_before, look_at, is_deferred, limit_key"
VALUES = (
    "NEW.id, NEW.agent, NEW.state, NEW.turn, NEW.not_before,"
    " NEW.complete_by, NEW.deferral IS NOT NULL, NEW.limit_key"
)
WRITE = (
    f"INSERT INTO workers_live ({COLUMNS}) VALUES ({VALUES})"
    " ON CONFLICT (step_id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[1:])
)
#: Whether a change concerns the narrow row.
CONCERNS = (
    " OR ".join(
        f"OLD.{name} {{differs}} NEW.{name}"
        for name in ("state", "agent", "turn", "not_before", "complete_by", "limit_key")
    )
    + " OR (OLD.deferral IS NULL) <> (NEW.deferral IS NULL)"
)


def keepers(vendor):
    """Return the statements that create the triggers."""
    concerns = CONCERNS.format(differs=DIFFERS[vendor])
    keep = {"postgresql": _keep_on_postgresql, "sqlite": _keep_on_sqlite}[vendor]
    return keep(WRITE, concerns)


def _keep_on_postgresql(write, concerns):
    # A plan from when the table was small would scan all of it, for good; and the restore of a
    # dump has no search path.
    function = (
        "CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql"
        " SET enable_seqscan = off SET search_path FROM CURRENT AS"
    )
    trigger = (
        "CREATE TRIGGER {} AFTER {} ON workers_step FOR EACH ROW WHEN ({}) EXECUTE FUNCTION {}()"
    )
    yield (
        f"{function.format('workers_live_write')} $$ BEGIN IF NEW.state IN {LIVE} THEN {write};"
        " ELSE DELETE FROM workers_live WHERE step_id = NEW.id; END IF; RETURN NULL; END $$"
    )
    yield (
        f"{function.format('workers_live_forget')} $$ BEGIN"
        " DELETE FROM workers_live WHERE step_id = OLD.id; RETURN NULL; END $$"
    )
    yield trigger.format(
        "workers_live_inserted", "INSERT", f"NEW.state IN {LIVE}", "workers_live_write"
    )
    yield trigger.format(
        "workers_live_updated",
        "UPDATE",
        f"(OLD.state IN {LIVE} OR NEW.state IN {LIVE}) AND ({concerns})",
        "workers_live_write",
    )
    yield trigger.format(
        "workers_live_deleted", "DELETE", f"OLD.state IN {LIVE}", "workers_live_forget"
    )


def _keep_on_sqlite(write, concerns):
    trigger = "CREATE TRIGGER {} AFTER {} ON workers_step WHEN {} BEGIN {}; END"
    forget = "DELETE FROM workers_live WHERE step_id = OLD.id"
    yield trigger.format("workers_live_inserted", "INSERT", f"NEW.state IN {LIVE}", write)
    yield trigger.format(
        "workers_live_updated", "UPDATE", f"NEW.state IN {LIVE} AND ({concerns})", write
    )
    yield trigger.format(
        "workers_live_ended",
        "UPDATE",
        f"OLD.state IN {LIVE} AND NEW.state NOT IN {LIVE}",
        forget,
    )
    yield trigger.format("workers_live_deleted", "DELETE", f"OLD.state IN {LIVE}", forget)


def keep(apps, schema_editor):
    for statement in keepers(schema_editor.connection.vendor):
        schema_editor.execute(statement)


def let_go(apps, schema_editor):
    # Everything else goes with the table of steps.
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION workers_live_write(), workers_live_forget() CASCADE")
