"""Alerts whose cause has ended say so, and paused processes are found at once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workers", "0007_live_steps")]

    operations = [
        migrations.AddField(
            model_name="alert",
            name="resolved_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                name="alert_unresolved_idx",
                fields=["id"],
                condition=models.Q(resolved_at__isnull=True),
            ),
        ),
        migrations.AddIndex(
            model_name="process",
            index=models.Index(
                name="process_paused_idx",
                fields=["paused_at"],
                condition=models.Q(paused_at__isnull=False, finished_at__isnull=True),
            ),
        ),
    ]
