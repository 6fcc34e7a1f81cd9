"""Search names, e-mail addresses and references by their beginnings, through one index each."""

from django.db import migrations, models

from workers.migrations._concurrently import AddIndexConcurrently, make_index

#: PostgreSQL only; SQLite reads its table, which nobody fills with a million orders.
SEARCHED = {
    "order_name_idx": "(upper(customer_name::text) text_pattern_ops)",
    "order_email_idx": "(upper(customer_email::text) text_pattern_ops)",
}


def add(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for name, columns in SEARCHED.items():
        make_index(schema_editor, name, "orders_order", columns)
    # The trigrams that an earlier 0007 made: a tenth of what an order writes.
    schema_editor.execute("DROP INDEX CONCURRENTLY IF EXISTS order_search_idx")


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name in SEARCHED:
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0007_indexes_of_operators")]

    operations = [
        migrations.RunPython(add, remove),
        AddIndexConcurrently(
            model_name="order",
            index=models.Index(
                fields=["reference"],
                name="order_reference_idx",
                opclasses=["varchar_pattern_ops"],
            ),
        ),
        migrations.AlterField(
            model_name="order",
            name="reference",
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AlterField(
            model_name="order",
            name="customer_email",
            field=models.EmailField(max_length=254),
        ),
    ]
