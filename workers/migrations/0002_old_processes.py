from django.db import migrations, models

from workers.migrations._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("workers", "0001_initial")]

    operations = [
        AddIndexConcurrently(
            model_name="process",
            index=models.Index(
                condition=models.Q(("pruned_at__isnull", False)),
                fields=["finished_at"],
                name="process_pruned_idx",
            ),
        ),
        AddIndexConcurrently(
            model_name="step",
            index=models.Index(
                condition=models.Q(("undoes__isnull", False)),
                fields=["undoes"],
                name="step_undoes_idx",
            ),
        ),
    ]
