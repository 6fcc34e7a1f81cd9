"""Workers say what their code knows; the answers that an agent may have outstanding are bounded."""

from django.db import migrations, models

from workers.migrations._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("workers", "0027_neighbours")]

    operations = [
        migrations.AddField(
            "worker", "code", models.CharField(blank=True, db_default="", default="", max_length=16)
        ),
        migrations.AddField("worker", "known", models.JSONField(null=True)),
        migrations.AddField("flow", "deferred_window", models.PositiveIntegerField(null=True)),
        AddIndexConcurrently(
            "livestep",
            models.Index(
                condition=models.Q(("is_deferred", True)),
                fields=["agent"],
                name="live_deferred_idx",
            ),
        ),
    ]
