"""Alerts and deliveries keep codes with parameters; jobs act on a sample first."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workers", "0018_notes")]

    operations = [
        migrations.AddField("alert", "params", models.JSONField(null=True)),
        migrations.AlterField("alert", "message", models.TextField(blank=True)),
        migrations.AddField("delivery", "problem", models.JSONField(null=True)),
        migrations.AddField(
            "bulkjob", "sample", models.PositiveIntegerField(db_default=0, default=0)
        ),
    ]
