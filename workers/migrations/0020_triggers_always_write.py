"""Have the triggers keep every narrow row: no statement writes them itself any more (PostgreSQL)."""

from importlib import import_module

from django.db import migrations

_live_steps = import_module("workers.migrations.0007_live_steps")


def _make_again(schema_editor, left_out):
    if schema_editor.connection.vendor != "postgresql":
        return
    concerns = _live_steps.CONCERNS.format(
        differs=_live_steps.DIFFERS["postgresql"],
        until=_live_steps.UNSTARTED_UNTIL["postgresql"].format(row="NEW"),
    )
    live = _live_steps.LIVE
    # Code of before this one writes the rows first, and the trigger the same again.
    schema_editor.execute("DROP TRIGGER workers_live_updated ON workers_step")
    schema_editor.execute(
        "CREATE TRIGGER workers_live_updated AFTER UPDATE ON workers_step FOR EACH ROW"
        f" WHEN ({left_out}(OLD.state IN {live} OR NEW.state IN {live}) AND ({concerns}))"
        " EXECUTE FUNCTION workers_live_write()"
    )


def always(apps, schema_editor):
    _make_again(schema_editor, "")


def unless_left(apps, schema_editor):
    _make_again(schema_editor, f"NOT {_live_steps.IS_LEFT} AND ")


class Migration(migrations.Migration):
    dependencies = [("workers", "0019_codes_with_parameters")]

    operations = [migrations.RunPython(always, unless_left)]
