"""Find what people did among millions of rows: the audit reads the journal."""

from django.db import migrations, models
from django.db.models.functions import Left
from django.db.models.lookups import Exact

from workers.migrations._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("workers", "0016_health")]

    operations = [
        migrations.CreateModel(
            name="Act",
            fields=[],
            options={
                "verbose_name": "act",
                "verbose_name_plural": "audit",
                "proxy": True,
                "default_permissions": ("view",),
                "indexes": [],
                "constraints": [],
            },
            bases=("workers.journal",),
        ),
        AddIndexConcurrently(
            model_name="journal",
            index=models.Index(
                condition=models.Q(Exact(Left("actor", 9), models.Value("operator:"))),
                fields=["at", "id", "actor", "event", "step"],
                name="journal_people_idx",
            ),
        ),
    ]
