"""Sinks keep why they could not be told as a code with parameters."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workers", "0023_two_persons")]

    operations = [migrations.AddField("sink", "problem", models.JSONField(null=True))]
