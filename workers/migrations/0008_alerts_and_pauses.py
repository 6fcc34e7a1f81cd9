"""Alerts whose cause has ended say so."""

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
    ]
