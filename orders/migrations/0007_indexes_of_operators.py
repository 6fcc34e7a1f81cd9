"""Sort orders by their total, and search a million of them by parts of names and addresses."""

from django.db import DatabaseError, migrations, models, transaction

from workers.migrations._concurrently import AddIndexConcurrently, make_index

#: PostgreSQL only; SQLite reads its table, which nobody fills with a million orders.
SEARCHED = {
    "order_search_idx": "USING gin (upper(customer_name::text) gin_trgm_ops,"
    " upper(customer_email::text) gin_trgm_ops)",
    "order_key_idx": "(submission_key varchar_pattern_ops)",
}


def add(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    has_trigrams = _has_trigrams(schema_editor.connection)
    for name, columns in SEARCHED.items():
        if has_trigrams or "trgm" not in columns:
            make_index(schema_editor, name, "orders_order", columns)


def _has_trigrams(connection):
    """Say whether the extension could be made; without it, a search reads the table."""
    try:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except DatabaseError:
        return False
    return True


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name in SEARCHED:
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("orders", "0006_limits"),
        ("workers", "0009_indexes_of_operators"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="order", index=models.Index(fields=["total"], name="order_total_idx")
        ),
        migrations.RunPython(add, remove),
    ]
