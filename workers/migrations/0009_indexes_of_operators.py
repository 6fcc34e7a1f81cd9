"""Find what operators look for among millions: what expired, and what was undone.

Neither is changed by an order on its way: the one has a row where a claim expires, the other
where a process ends undone.
"""

from django.db import migrations, models

from workers.migrations._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("workers", "0008_alerts_and_pauses")]

    operations = [
        AddIndexConcurrently(
            model_name="journal",
            index=models.Index(
                condition=models.Q(("event", "expired")),
                fields=["process"],
                name="journal_expired_idx",
            ),
        ),
        AddIndexConcurrently(
            model_name="process",
            index=models.Index(
                condition=models.Q(("state__in", ["cancelled", "compensated"])),
                fields=["id"],
                name="process_undone_idx",
            ),
        ),
    ]
