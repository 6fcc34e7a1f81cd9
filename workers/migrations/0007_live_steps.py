"""Keep what steps are looked for by in narrow rows, so that a step's changes touch no index.

The database keeps them in step with the steps (triggers), whoever writes those: code of before
this migration does, too, while both run.
"""

import django.db.models.deletion
from django.db import migrations, models

#: Pages of steps are filled to so many percent by new rows; see ``0006_room_in_pages``.
FILL_PERCENT = 50

STATES = ("pending", "processing", "error")
LIVE = f"{STATES}"
#: No claim that nobody has started expires, or counts as lost, before this.
UNSTARTED_UNTIL = {
    "postgresql": "LEAST({row}.dispatch_by,"
    " {row}.claimed_at + {row}.timeout_seconds * interval '1 second')",
    "sqlite": "min({row}.dispatch_by, strftime('%Y-%m-%d %H:%M:%f000', {row}.claimed_at,"
    " '+' || {row}.timeout_seconds || ' seconds'))",
}
#: Whether one of two values that may be null is other than the other.
DIFFERS = {"postgresql": "IS DISTINCT FROM", "sqlite": "IS NOT"}
COLUMNS = "step_id, agent, state, turn, not_before, look_at, is_deferred"
VALUES = (
    "{row}.id, {row}.agent, {row}.state, {row}.turn, {row}.not_before,"
    " CASE WHEN {row}.state = 'processing' THEN COALESCE({row}.complete_by, {until}) END,"
    " {row}.deferral IS NOT NULL"
)
WRITE = (
    f"INSERT INTO workers_live ({COLUMNS}) VALUES ({{values}})"
    " ON CONFLICT (step_id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[1:])
)
#: Whether a change concerns the narrow row.  A start does not: no claim ends before the instant at
#: which one that nobody started is looked at.
CONCERNS = (
    " OR ".join(
        f"OLD.{name} {{differs}} NEW.{name}"
        for name in (
            *("state", "agent", "turn", "not_before"),
            *("claimed_at", "dispatch_by", "timeout_seconds"),
        )
    )
    + " OR (OLD.deferral IS NULL) <> (NEW.deferral IS NULL)"
    " OR OLD.complete_by {differs} NEW.complete_by"
    " AND (OLD.complete_by IS NOT NULL OR NEW.complete_by < {until})"
)
#: Statements that write the narrow rows themselves say so for their transaction.
IS_LEFT = "current_setting('workers.live', true) IS NOT DISTINCT FROM 'written'"


def _values(vendor, row):
    return VALUES.format(row=row, until=UNSTARTED_UNTIL[vendor].format(row=row))


def keepers(vendor):
    """Return the statements that have the database keep the narrow rows."""
    write = WRITE.format(values=_values(vendor, "NEW"))
    concerns = CONCERNS.format(
        differs=DIFFERS[vendor], until=UNSTARTED_UNTIL[vendor].format(row="NEW")
    )
    return {"postgresql": _keep_on_postgresql, "sqlite": _keep_on_sqlite}[vendor](write, concerns)


def keep(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for statement in keepers(vendor):
        schema_editor.execute(statement)
    # State by state, as each index has it: one condition for all would read the whole table.
    live = " UNION ALL ".join(
        f"SELECT {_values(vendor, 's')} FROM workers_step s WHERE s.state = '{state}'"
        for state in STATES
    )
    schema_editor.execute(f"INSERT INTO workers_live ({COLUMNS}) {live}")


def _keep_on_postgresql(write, concerns):
    # As dropping the indexes does: to begin with less and ask for more might never end.
    yield "LOCK TABLE workers_step IN ACCESS EXCLUSIVE MODE"
    # A plan that was made while the table was small would read all of it, for good; and whoever
    # restores a dump has no search path.
    function = (
        "CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql"
        " SET enable_seqscan = off SET search_path FROM CURRENT AS"
    )
    trigger = (
        "CREATE TRIGGER {} AFTER {} ON workers_step FOR EACH ROW WHEN ({}) EXECUTE FUNCTION {}()"
    )
    yield f"ALTER TABLE workers_step SET (fillfactor = {FILL_PERCENT})"
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
        f"NOT {IS_LEFT} AND (OLD.state IN {LIVE} OR NEW.state IN {LIVE}) AND ({concerns})",
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


def let_go(apps, schema_editor):
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    for what in ("inserted", "updated", "deleted", *(() if is_postgresql else ("ended",))):
        on = " ON workers_step" if is_postgresql else ""
        schema_editor.execute(f"DROP TRIGGER workers_live_{what}{on}")
    if is_postgresql:
        schema_editor.execute("DROP FUNCTION workers_live_write(), workers_live_forget()")
        schema_editor.execute("ALTER TABLE workers_step RESET (fillfactor)")


class Migration(migrations.Migration):
    dependencies = [("workers", "0006_room_in_pages")]

    operations = [
        migrations.CreateModel(
            name="LiveStep",
            fields=[
                (
                    "step",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="live",
                        serialize=False,
                        to="workers.step",
                    ),
                ),
                ("agent", models.CharField(max_length=100)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("processing", "Processing"),
                            ("error", "Error"),
                        ],
                        max_length=20,
                    ),
                ),
                ("turn", models.DateTimeField()),
                ("not_before", models.DateTimeField(null=True)),
                ("look_at", models.DateTimeField(null=True)),
                ("is_deferred", models.BooleanField()),
            ],
            options={"db_table": "workers_live"},
        ),
        migrations.AddConstraint(
            model_name="livestep",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("look_at__isnull", False),
                    ("state", "processing"),
                )
                | models.Q(
                    ("is_deferred", False),
                    ("look_at__isnull", True),
                    ("state__in", ["pending", "error"]),
                ),
                name="live_look_at_iff_processing",
            ),
        ),
        migrations.AddIndex(
            model_name="livestep",
            index=models.Index(
                condition=models.Q(("state", "pending")),
                fields=["agent", "turn", "not_before", "step"],
                name="live_claimable_idx",
            ),
        ),
        migrations.AddIndex(
            model_name="livestep",
            index=models.Index(
                condition=models.Q(("is_deferred", False), ("state", "processing")),
                fields=["agent"],
                name="live_in_flight_idx",
            ),
        ),
        migrations.AddIndex(
            model_name="livestep",
            index=models.Index(
                condition=models.Q(("look_at__isnull", False)),
                fields=["look_at"],
                name="live_look_at_idx",
            ),
        ),
        migrations.AddIndex(
            model_name="livestep",
            index=models.Index(
                condition=models.Q(("state", "error")), fields=["step"], name="live_error_idx"
            ),
        ),
        # While there are indexes by which live steps are found.
        migrations.RunPython(keep, let_go),
        migrations.RemoveIndex(model_name="step", name="step_expiry_idx"),
        migrations.RemoveIndex(model_name="step", name="step_error_idx"),
        migrations.RemoveIndex(model_name="step", name="step_claimable_idx"),
        migrations.RemoveIndex(model_name="step", name="step_in_flight_idx"),
    ]
