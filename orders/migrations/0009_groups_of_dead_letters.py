"""Dead letters are grouped by what is wrong with them, and corrected."""

from django.db import migrations, models

from orders.letter_groups import cause_of
from workers.migrations._concurrently import AddIndexConcurrently


def say_the_cause(apps, schema_editor):
    """Group those that are open already."""
    letters = apps.get_model("orders", "DeadLetter").objects.filter(state="open", cause="")
    for pk, reasons in list(letters.values_list("pk", "reasons")):
        letters.filter(pk=pk).update(cause=cause_of(reasons))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0008_search_by_beginnings")]

    operations = [
        migrations.AddField(
            "deadletter", "cause", models.CharField(blank=True, db_default="", max_length=200)
        ),
        migrations.AddField("deadletter", "corrected", models.BinaryField(null=True)),
        migrations.RunPython(say_the_cause, migrations.RunPython.noop),
        AddIndexConcurrently(
            "deadletter",
            models.Index(
                condition=models.Q(("state", "open")),
                fields=["cause", "client", "sender", "received_at", "id"],
                name="dead_letter_group_idx",
            ),
        ),
        migrations.AlterModelOptions(
            "deadletter",
            options={
                "ordering": ["-received_at"],
                "permissions": [
                    ("resolve_dead_letter", "Can replay and discard dead letters"),
                    ("correct_dead_letter", "Can correct dead letters and replay them"),
                ],
            },
        ),
    ]
