"""Indexes on large tables, made while others write to them."""

from contextlib import contextmanager

from django.db.migrations.operations import AddConstraint, AddIndex, RemoveConstraint


class AddIndexConcurrently(AddIndex):
    """Add an index without locking its table against writes, where the database can (PostgreSQL).

    Django's own knows PostgreSQL only.  A migration that uses it is not atomic.
    """

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.apps.get_model(app_label, self.model_name)
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        elif self.allow_migrate_model(schema_editor.connection.alias, model):
            with _waiting_for_others(schema_editor):
                # What an attempt that was cut off has left is no index.
                schema_editor.remove_index(model, self.index, concurrently=True)
                schema_editor.add_index(model, self.index, concurrently=True)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        model = from_state.apps.get_model(app_label, self.model_name)
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        elif self.allow_migrate_model(schema_editor.connection.alias, model):
            with _waiting_for_others(schema_editor):
                schema_editor.remove_index(model, self.index, concurrently=True)


class AddUniqueConcurrently(AddConstraint):
    """Add a unique constraint with a condition, which is an index, without locking its table."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            _add_unique(schema_editor, model, self.constraint)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            _remove_unique(schema_editor, model, self.constraint)


class RemoveUniqueConcurrently(RemoveConstraint):
    """Remove a unique constraint with a condition without locking its table."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            _remove_unique(schema_editor, model, self._constraint(app_label, from_state))

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            _add_unique(schema_editor, model, self._constraint(app_label, to_state))

    def _constraint(self, app_label, state):
        return state.models[app_label, self.model_name_lower].get_constraint_by_name(self.name)


def _add_unique(schema_editor, model, constraint):
    if schema_editor.connection.vendor != "postgresql":
        schema_editor.add_constraint(model, constraint)
        return
    statement = constraint.create_sql(model, schema_editor)
    statement.template = statement.template.replace("UNIQUE INDEX", "UNIQUE INDEX CONCURRENTLY", 1)
    # What an attempt that was cut off has left is no index.
    _remove_unique(schema_editor, model, constraint)
    with _waiting_for_others(schema_editor):
        schema_editor.execute(statement)


def _remove_unique(schema_editor, model, constraint):
    if schema_editor.connection.vendor != "postgresql":
        schema_editor.remove_constraint(model, constraint)
        return
    with _waiting_for_others(schema_editor):
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {constraint.name}")


def make_index(schema_editor, name, table, columns):
    """Make an index that Django has no words for (PostgreSQL)."""
    with _waiting_for_others(schema_editor):
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        schema_editor.execute(f"CREATE INDEX CONCURRENTLY {name} ON {table} {columns}")


#: What is lifted while an index is made without blocking: it holds up nobody while it waits for
#: transactions that are older.
_LIMITS = ("lock_timeout", "statement_timeout")


@contextmanager
def _waiting_for_others(schema_editor):
    """Lift the limits of the session for a block.

    Given back after it: an ALTER TABLE of a later migration that waits for a long reader holds up
    everybody behind it, and must give up.
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
