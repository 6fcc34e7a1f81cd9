"""A process says whether its workflow is called in the transaction that ends it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workers", "0014_masks_and_time_zones")]

    operations = [
        migrations.AddField(
            model_name="process",
            name="has_on_end",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
