"""Find what operators look for among millions: what is paused, what expired, what was undone.

None is changed by an order on its way: one has a row where somebody pauses, one where a claim
expires, one where a process ends undone.
"""

from django.db import migrations, models

from workers.migrations._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("workers", "0008_alerts_and_pauses")]

    operations = [
        AddIndexConcurrently(
            model_name="process",
            index=models.Index(
                name="process_paused_idx",
                fields=["paused_at"],
                condition=models.Q(paused_at__isnull=False, finished_at__isnull=True),
            ),
        ),
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
