"""Sort orders by their total, and search a million of them by the beginning of a key."""

from django.db import migrations, models

from workers.migrations._concurrently import AddIndexConcurrently, make_index


def add(apps, schema_editor):
    # SQLite reads its table, which nobody fills with a million orders.
    if schema_editor.connection.vendor == "postgresql":
        columns = "(submission_key varchar_pattern_ops)"
        make_index(schema_editor, "order_key_idx", "orders_order", columns)


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX CONCURRENTLY IF EXISTS order_key_idx")


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
