"""Create indexes on large tables without blocking writes, for migrations after the first."""

from contextlib import contextmanager

from django.db.migrations.operations import AddIndex


class AddIndexConcurrently(AddIndex):
    """Add an index without locking its table against writes, if the database can (PostgreSQL).

    Django's own operation works only on PostgreSQL.  A migration that uses it is not atomic.
    """

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.apps.get_model(app_label, self.model_name)
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        elif self.allow_migrate_model(schema_editor.connection.alias, model):
            with _waiting_for_others(schema_editor):
                # An interrupted attempt leaves an invalid index.
                schema_editor.remove_index(model, self.index, concurrently=True)
                schema_editor.add_index(model, self.index, concurrently=True)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        model = from_state.apps.get_model(app_label, self.model_name)
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        elif self.allow_migrate_model(schema_editor.connection.alias, model):
            with _waiting_for_others(schema_editor):
                schema_editor.remove_index(model, self.index, concurrently=True)


#: Limits that are lifted while an index is created: it blocks nothing while it waits for older
#: transactions.
_LIMITS = ("lock_timeout", "statement_timeout")


@contextmanager
def _waiting_for_others(schema_editor):
    """Lift the limits of the session for a block.

    Restored afterwards: an ALTER TABLE of a later migration that waits for a long reader blocks
    every statement behind it, and must give up.
    """
    for name in _LIMITS:
        # Kept by the session itself, so that `sqlmigrate` shows the whole of it, too.
        schema_editor.execute(f"SELECT set_config('sas.{name}', current_setting('{name}'), false)")
        schema_editor.execute(f"SET {name} = 0")
    try:
        yield
    finally:
        # A connection that died meanwhile took its settings with it.
        if schema_editor.connection.is_usable():
            for name in _LIMITS:
                schema_editor.execute(
                    f"SELECT set_config('{name}', current_setting('sas.{name}'), false)"
                )
