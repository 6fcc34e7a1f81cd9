"""Find processes by the beginning of a subject, and list those of a rare workflow.

One index of subjects takes the place of two.
"""

from django.db import migrations, models

from workers.migrations._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("workers", "0009_indexes_of_operators")]

    operations = [
        AddIndexConcurrently(
            model_name="process",
            index=models.Index(
                fields=["subject"],
                name="process_subject_idx",
                opclasses=["varchar_pattern_ops"],
            ),
        ),
        AddIndexConcurrently(
            model_name="process",
            index=models.Index(fields=["workflow", "id"], name="process_workflow_idx"),
        ),
        migrations.AlterField(
            model_name="process",
            name="subject",
            field=models.CharField(max_length=200),
        ),
    ]
