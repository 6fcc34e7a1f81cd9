"""Steps know that a person did them: then a person undoes them."""

from importlib import import_module

from django.db import migrations, models

_fewer_bytes = import_module("workers.migrations.0022_fewer_bytes")


class AddFieldToSteps(migrations.AddField):
    """Add a field; SQLite may make the table anew for it, and drop the triggers with it."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        _keep_triggers(schema_editor)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        super().database_backwards(app_label, schema_editor, from_state, to_state)
        _keep_triggers(schema_editor)


def _keep_triggers(schema_editor):
    if schema_editor.connection.vendor != "sqlite":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'workers_step'"
        )
        are_there = cursor.fetchone()[0] > 0
    # A column is dropped without making the table anew.
    if not are_there:
        _fewer_bytes._make_triggers_again(schema_editor)


class Migration(migrations.Migration):
    dependencies = [("workers", "0028_known_and_deferred")]

    operations = [
        AddFieldToSteps("step", "is_by_hand", models.BooleanField(default=False, db_default=False)),
    ]
