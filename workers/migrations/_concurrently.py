"""Indexes on large tables, made while others write to them."""

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
            _wait_for_others(schema_editor)
            # What an attempt that was cut off has left is no index.
            schema_editor.remove_index(model, self.index, concurrently=True)
            schema_editor.add_index(model, self.index, concurrently=True)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        model = from_state.apps.get_model(app_label, self.model_name)
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        elif self.allow_migrate_model(schema_editor.connection.alias, model):
            _wait_for_others(schema_editor)
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
    schema_editor.execute(statement)


def _remove_unique(schema_editor, model, constraint):
    if schema_editor.connection.vendor != "postgresql":
        schema_editor.remove_constraint(model, constraint)
        return
    _wait_for_others(schema_editor)
    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {constraint.name}")


def make_index(schema_editor, name, table, columns):
    """Make an index that Django has no words for (PostgreSQL)."""
    _wait_for_others(schema_editor)
    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
    schema_editor.execute(f"CREATE INDEX CONCURRENTLY {name} ON {table} {columns}")


def _wait_for_others(schema_editor):
    # It holds up nobody while it waits for transactions that are older.
    schema_editor.execute("SET lock_timeout = 0")
    schema_editor.execute("SET statement_timeout = 0")
