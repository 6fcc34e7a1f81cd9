"""Notes stand on processes, too; the hand-over sheet has a right, and keys a switch."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workers", "0017_audit")]

    operations = [
        migrations.AlterField(
            model_name="note",
            name="incident",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notes",
                to="workers.incident",
            ),
        ),
        migrations.AddField(
            model_name="note",
            name="process",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notes",
                to="workers.process",
            ),
        ),
        migrations.AddConstraint(
            model_name="note",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("incident__isnull", False), ("process__isnull", True)
                )
                | models.Q(("incident__isnull", True), ("process__isnull", False)),
                name="note_on_one_thing",
            ),
        ),
        migrations.AddIndex(
            model_name="note",
            index=models.Index(fields=["at"], name="note_at_idx"),
        ),
        migrations.AlterModelOptions(
            name='incident',
            options={'ordering': ['-last_at', '-id'], 'permissions': [('acknowledge_incident', 'Can take an incident'), ('assign_incident', 'Can assign an incident'), ('snooze_incident', 'Can snooze an incident'), ('resolve_incident', 'Can resolve an incident by hand'), ('note_incident', 'Can write notes on an incident'), ('hand_over_incident', 'Can see the hand-over sheet and mail it')]},
        ),
        migrations.AlterModelOptions(
            name='process',
            options={'permissions': [('resubmit_process', 'Can resubmit a process in error'), ('pause_process', 'Can pause and resume a process'), ('cancel_process', 'Can cancel a process'), ('compensate_process', 'Can undo a process'), ('renew_process', 'Can begin a process again from an earlier step'), ('edit_input', 'Can edit the input of a process'), ('retry_step', 'Can have a step tried again at once'), ('extend_step', 'Can change the time a step has'), ('complete_step', 'Can complete a step by hand'), ('skip_step', 'Can skip a step'), ('answer_step', 'Can answer a step that waits for somebody'), ('show_personal', 'Can see personal data unmasked'), ('note_process', 'Can write notes on a process')], 'verbose_name_plural': 'processes'},
        ),
        migrations.AlterField(
            model_name="preferences",
            name="time_zone",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="preferences",
            name="has_no_keys",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
