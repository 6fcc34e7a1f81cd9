"""Leases keep what their duty raised; a row says which installation this is."""

import uuid

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workers", "0026_requests_for_approval")]

    operations = [
        migrations.CreateModel(
            name="Installation",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False),
                ),
                ("made_at", models.DateTimeField()),
                ("place", models.CharField(blank=True, default="", max_length=60)),
                ("timeline", models.BigIntegerField(null=True)),
                ("is_synchronous", models.BooleanField(default=False)),
                ("looked_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            "lease", "failures", models.PositiveIntegerField(default=0, db_default=0)
        ),
        migrations.AddField("lease", "failed_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "lease", "error", models.TextField(blank=True, default="", db_default="")
        ),
    ]
