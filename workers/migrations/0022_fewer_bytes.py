"""Leave out three indexes whose rows cannot be doubled: less is written and kept for each order.

Numbers of journal rows and what moves a step are unique by the conditions of the statements that
write them; a key begins with the uid of its process and has the position of its step.
"""

from importlib import import_module

from django.db import migrations, models

from workers.migrations._concurrently import AddUniqueConcurrently, RemoveUniqueConcurrently

_live_steps = import_module("workers.migrations.0007_live_steps")


class RemoveConstraintOfSteps(migrations.RemoveConstraint):
    """Remove a constraint; SQLite makes the table anew for it, and drops the triggers with it."""

    atomic = True

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        _make_triggers_again(schema_editor)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        super().database_backwards(app_label, schema_editor, from_state, to_state)
        _make_triggers_again(schema_editor)


def _make_triggers_again(schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for statement in _live_steps.keepers("sqlite"):
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("workers", "0021_saved_views")]

    operations = [
        RemoveConstraintOfSteps(model_name="step", name="step_idempotency_key_unique"),
        AddUniqueConcurrently(
            model_name="journal",
            constraint=models.UniqueConstraint(
                condition=models.Q(("after__isnull", True), ("attempt__isnull", False)),
                fields=("step", "attempt", "event"),
                name="journal_note_once_per_attempt",
            ),
        ),
        RemoveUniqueConcurrently(model_name="journal", name="journal_once_per_attempt"),
        RemoveUniqueConcurrently(model_name="journal", name="journal_sequence_unique"),
    ]
