"""A return knows its order by a column, and no longer by its subject."""

import django.db.models.deletion
from django.db import migrations, models

SUBJECT = "Return of order "
#: Rows written at a time.
BATCH = 1000


def tie(apps, schema_editor):
    """Give the returns there are their orders; one that is no order's stays as it is."""
    processes = apps.get_model("workers", "Process").objects.filter(workflow="return")
    orders = apps.get_model("orders", "Order").objects
    returns = apps.get_model("orders", "Return")
    found = processes.order_by("pk").values_list("pk", "subject")
    numbers = {
        pk: int(subject.removeprefix(SUBJECT))
        for pk, subject in found.iterator()
        if subject.removeprefix(SUBJECT).isdigit()
    }
    known = set(returns.objects.values_list("process_id", flat=True))
    pairs = [pair for pair in numbers.items() if pair[0] not in known]
    for first in range(0, len(pairs), BATCH):
        part = pairs[first : first + BATCH]
        there = set(
            orders.filter(pk__in=[number for _pk, number in part]).values_list("pk", flat=True)
        )
        returns.objects.bulk_create(
            returns(process_id=pk, order_id=number) for pk, number in part if number in there
        )


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0009_groups_of_dead_letters"),
        ("workers", "0010_processes_by_subject_and_workflow"),
    ]

    operations = [
        migrations.CreateModel(
            "Return",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "order",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="returns",
                        to="orders.order",
                    ),
                ),
                (
                    "process",
                    models.OneToOneField(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="workers.process",
                    ),
                ),
            ],
            options={"default_permissions": ()},
        ),
        migrations.RunPython(tie, migrations.RunPython.noop),
    ]
