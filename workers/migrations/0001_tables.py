"""Every table of the engine, the triggers behind steps, and room in pages (PostgreSQL)."""

import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.db.models.lookups
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

from workers.migrations import _live_steps

#: Pages are filled to so many percent by new rows; what is left takes what they are changed to,
#: and a row that stays on its page and changes nothing indexed needs no new entry in an index.
FILL_PERCENT = {"workers_process": 60, "workers_step": 50}


def leave_room(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for table, percent in FILL_PERCENT.items():
            schema_editor.execute(f"ALTER TABLE {table} SET (fillfactor = {percent})")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Installation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ('made_at', models.DateTimeField()),
                ('place', models.CharField(blank=True, default='', max_length=60)),
                ('timeline', models.BigIntegerField(null=True)),
                ('is_synchronous', models.BooleanField(default=False)),
                ('looked_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Journal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveIntegerField(null=True)),
                ('event', models.CharField(max_length=40)),
                ('before', models.CharField(max_length=20, null=True)),
                ('after', models.CharField(max_length=20, null=True)),
                ('attempt', models.PositiveIntegerField(null=True)),
                ('actor', models.CharField(max_length=200)),
                ('detail', models.JSONField(default=dict)),
                ('at', models.DateTimeField()),
            ],
            options={
                'verbose_name_plural': 'journal',
            },
        ),
        migrations.CreateModel(
            name='Lease',
            fields=[
                ('name', models.CharField(max_length=50, primary_key=True, serialize=False)),
                ('holder', models.CharField(max_length=200, null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('performed_at', models.DateTimeField(null=True)),
                ('cursor', models.BigIntegerField(default=0)),
                ('failures', models.PositiveIntegerField(db_default=0, default=0)),
                ('error', models.TextField(blank=True, db_default='', default='')),
                ('failed_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Spec',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.BigIntegerField(db_index=True)),
                ('after', models.JSONField()),
                ('fallbacks', models.JSONField()),
                ('undo', models.JSONField(null=True)),
                ('is_optional', models.BooleanField()),
                ('on_failure', models.CharField(max_length=20)),
                ('wait_seconds', models.PositiveIntegerField()),
                ('delay_seconds', models.PositiveIntegerField()),
                ('is_judged', models.BooleanField()),
                ('unless', models.CharField(blank=True, max_length=100)),
                ('children', models.JSONField(null=True)),
                ('effect', models.CharField(max_length=20)),
                ('key_retention_seconds', models.PositiveIntegerField(null=True)),
                ('total_seconds', models.PositiveIntegerField(null=True)),
                ('timeout_seconds', models.PositiveIntegerField()),
                ('backoff_base_seconds', models.FloatField()),
                ('backoff_cap_seconds', models.FloatField()),
            ],
        ),
        migrations.CreateModel(
            name='Step',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('position', models.PositiveSmallIntegerField()),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('pending', 'Pending'), ('processing', 'Processing'), ('processed', 'Processed'), ('error', 'Error'), ('skipped', 'Skipped'), ('compensated', 'Compensated'), ('cancelled', 'Cancelled')], default='waiting', max_length=20)),
                ('agent', models.CharField(max_length=100)),
                ('spec_digest', models.BigIntegerField()),
                ('failure_threshold', models.PositiveSmallIntegerField()),
                ('claim_id', models.UUIDField(null=True)),
                ('locked_by', models.CharField(max_length=200, null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('complete_by', models.DateTimeField(null=True)),
                ('delivery', models.UUIDField(null=True)),
                ('reply', models.JSONField(null=True)),
                ('deferral', models.JSONField(null=True)),
                ('escalate_at', models.DateTimeField(null=True)),
                ('early', models.JSONField(null=True)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('failure_count', models.PositiveSmallIntegerField(default=0)),
                ('unavailable_count', models.PositiveIntegerField(default=0)),
                ('not_before', models.DateTimeField(null=True)),
                ('turn', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), default=django.utils.timezone.now)),
                ('began_at', models.DateTimeField(null=True)),
                ('key_used_at', models.DateTimeField(null=True)),
                ('may_have_effect', models.BooleanField(default=False)),
                ('is_in_doubt', models.BooleanField(default=False)),
                ('is_by_hand', models.BooleanField(db_default=False, default=False)),
                ('idempotency_key', models.CharField(max_length=80)),
                ('limit_key', models.CharField(max_length=400, null=True)),
                ('result', models.JSONField(null=True)),
                ('fault', models.JSONField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('undoes', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workers.step')),
            ],
            options={
                'ordering': ['process_id', 'position'],
            },
        ),
        migrations.CreateModel(
            name='Process',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('workflow', models.CharField(max_length=100)),
                ('version', models.PositiveIntegerField()),
                ('subject', models.CharField(max_length=200)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('processing', 'Processing'), ('processed', 'Processed'), ('error', 'Error'), ('compensating', 'Compensating'), ('compensated', 'Compensated'), ('cancelled', 'Cancelled')], default='pending', max_length=20)),
                ('input', models.JSONField(default=dict)),
                ('no_return', models.JSONField(default=list)),
                ('outcome', models.CharField(max_length=20, null=True)),
                ('sequence', models.PositiveIntegerField(default=0)),
                ('needs_decision', models.BooleanField(default=False)),
                ('lane', models.CharField(db_default='', default='', max_length=200)),
                ('turn', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), default=django.utils.timezone.now)),
                ('paused_at', models.DateTimeField(null=True)),
                ('deadline_at', models.DateTimeField(null=True)),
                ('on_deadline', models.CharField(db_default='compensate', default='compensate', max_length=20)),
                ('renews', models.JSONField(db_default=models.Value([], models.JSONField()), default=list)),
                ('editable', models.JSONField(db_default=models.Value([], models.JSONField()), default=list)),
                ('has_on_end', models.BooleanField(db_default=False, default=False)),
                ('submission_key', models.CharField(max_length=400, null=True)),
                ('key_use', models.PositiveIntegerField(null=True)),
                ('key_until', models.DateTimeField(null=True)),
                ('limit_values', models.JSONField(null=True)),
                ('exclusive', models.CharField(max_length=400, null=True)),
                ('created_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('pruned_at', models.DateTimeField(null=True)),
                ('erased_at', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name_plural': 'processes',
                'permissions': [('resubmit_process', 'Can resubmit a process in error'), ('pause_process', 'Can pause and resume a process'), ('cancel_process', 'Can cancel a process'), ('compensate_process', 'Can undo a process'), ('renew_process', 'Can begin a process again from an earlier step'), ('edit_input', 'Can edit the input of a process'), ('redo_step', 'Can have a skipped step done again'), ('retry_step', 'Can have a step tried again at once'), ('extend_step', 'Can change the time a step has'), ('complete_step', 'Can complete a step by hand'), ('skip_step', 'Can skip a step'), ('answer_step', 'Can answer a step that waits for somebody'), ('show_personal', 'Can see personal data unmasked'), ('note_process', 'Can write notes on a process'), ('erase_process', 'Can erase the personal data of a process'), ('erase_person', 'Can export and erase all data of a person')],
            },
        ),
        migrations.CreateModel(
            name='ReceivedWebhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40)),
                ('message_id', models.CharField(max_length=200)),
                ('received_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Schedule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('is_declared', models.BooleanField()),
                ('workflow', models.CharField(max_length=100)),
                ('cron', models.CharField(blank=True, max_length=200)),
                ('every_seconds', models.PositiveIntegerField(null=True)),
                ('time_zone', models.CharField(max_length=100)),
                ('overlap', models.CharField(max_length=10)),
                ('catch_up_seconds', models.PositiveIntegerField()),
                ('jitter_seconds', models.PositiveIntegerField()),
                ('input', models.JSONField(null=True)),
                ('attributes', models.JSONField(default=dict)),
                ('subject', models.CharField(blank=True, max_length=200)),
                ('next_at', models.DateTimeField()),
                ('due_at', models.DateTimeField()),
                ('set_at', models.DateTimeField()),
                ('paused_at', models.DateTimeField(null=True)),
                ('skip_at', models.DateTimeField(null=True)),
                ('last_at', models.DateTimeField(null=True)),
                ('last_process', models.BigIntegerField(null=True)),
                ('missed', models.PositiveIntegerField(default=0)),
                ('skipped', models.PositiveIntegerField(default=0)),
                ('problem', models.CharField(blank=True, max_length=300)),
                ('backfill_at', models.DateTimeField(null=True)),
                ('backfill_until', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['name'],
                'permissions': [('operate_schedule', 'Can pause, run, skip and backfill schedules')],
                'indexes': [models.Index(condition=models.Q(('paused_at__isnull', True)), fields=['due_at'], name='schedule_due_idx')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('cron', ''), ('every_seconds__isnull', False)), models.Q(models.Q(('cron', ''), _negated=True), ('every_seconds__isnull', True)), _connector='OR'), name='schedule_cron_or_every'), models.CheckConstraint(condition=models.Q(('overlap__in', ['skip', 'queue', 'both', 'replace'])), name='schedule_overlap_known'), models.CheckConstraint(condition=models.Q(models.Q(('backfill_at__isnull', True), ('backfill_until__isnull', True)), models.Q(('backfill_at__isnull', False), ('backfill_until__isnull', False)), _connector='OR'), name='schedule_backfill_whole')],
            },
        ),
        migrations.CreateModel(
            name='Sink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=10)),
                ('address', models.CharField(max_length=500)),
                ('owner', models.CharField(blank=True, max_length=100)),
                ('correlation_id', models.CharField(blank=True, max_length=200)),
                ('cursor', models.PositiveIntegerField(default=0)),
                ('last', models.PositiveIntegerField(default=0)),
                ('state', models.CharField(default='open', max_length=20)),
                ('tries', models.PositiveIntegerField(default=0)),
                ('next_try_at', models.DateTimeField()),
                ('problem', models.JSONField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=300)),
            ],
            options={
                'permissions': [('redeliver_sink', 'Can have a submitter told again')],
            },
        ),
        migrations.CreateModel(
            name='UndoRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('verb', models.CharField(max_length=20)),
                ('step', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('state', models.CharField(choices=[('waiting', 'waits for a second person'), ('approved', 'approved'), ('declined', 'declined')], db_default='waiting', default='waiting', max_length=10)),
                ('given', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ('undo', models.JSONField()),
                ('sequence', models.PositiveIntegerField()),
                ('amount', models.DecimalField(decimal_places=2, max_digits=16, null=True)),
                ('asked_by', models.CharField(max_length=200)),
                ('reason', models.TextField()),
                ('asked_at', models.DateTimeField()),
                ('decided_by', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('comment', models.TextField(blank=True, db_default='', default='')),
                ('decided_at', models.DateTimeField(null=True)),
                ('refusal', models.JSONField(null=True)),
            ],
            options={
                'verbose_name': 'request for approval',
                'verbose_name_plural': 'requests for approval',
                'ordering': ['-id'],
                'permissions': [('decide_undorequest', 'Can approve and decline requests for approval')],
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('run', models.CharField(max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('queues', models.JSONField(default=list)),
                ('processes', models.PositiveIntegerField()),
                ('seen_at', models.DateTimeField()),
                ('code', models.CharField(blank=True, db_default='', default='', max_length=16)),
                ('known', models.JSONField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Flow',
            fields=[
                ('agent', models.CharField(max_length=100, primary_key=True, serialize=False)),
                ('window', models.PositiveIntegerField()),
                ('unavailable_streak', models.PositiveIntegerField(default=0)),
                ('opened_at', models.DateTimeField(null=True)),
                ('open_until', models.DateTimeField(null=True)),
                ('forced', models.CharField(max_length=10, null=True)),
                ('rate_per_second', models.FloatField(null=True)),
                ('tokens', models.FloatField(db_default=0, default=0)),
                ('refilled_at', models.DateTimeField(null=True)),
                ('deferred_window', models.PositiveIntegerField(null=True)),
            ],
            options={
                'verbose_name_plural': 'flow',
                'permissions': [('operate_flow', 'Can set windows, rates and breakers')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('open_until__isnull', True), ('opened_at__isnull', True)), models.Q(('open_until__isnull', False), ('opened_at__isnull', False)), _connector='OR'), name='flow_breaker_open_since_and_until'), models.CheckConstraint(condition=models.Q(('forced__isnull', True), ('forced__in', ['open', 'closed']), _connector='OR'), name='flow_forced_known'), models.CheckConstraint(condition=models.Q(('rate_per_second__isnull', True), ('rate_per_second__gt', 0), _connector='OR'), name='flow_rate_above_zero')],
            },
        ),
        migrations.CreateModel(
            name='LimitedKey',
            fields=[
                ('key', models.CharField(max_length=400, primary_key=True, serialize=False)),
                ('agent', models.CharField(max_length=100)),
                ('window', models.PositiveIntegerField(null=True)),
                ('rate_per_second', models.FloatField(null=True)),
                ('next_at', models.DateTimeField(null=True)),
                ('full_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['agent', 'next_at'], name='limitedkey_next_idx'), models.Index(condition=models.Q(('rate_per_second__isnull', True), ('window__isnull', True)), fields=['full_at'], name='limitedkey_full_idx')],
                'constraints': [models.CheckConstraint(condition=models.Q(('rate_per_second__isnull', True), ('rate_per_second__gt', 0), _connector='OR'), name='limitedkey_rate_above_zero')],
            },
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=20)),
                ('name', models.CharField(blank=True, max_length=100)),
                ('reason', models.TextField(blank=True)),
                ('began_at', models.DateTimeField()),
                ('began_by', models.CharField(max_length=200)),
                ('ended_at', models.DateTimeField(null=True)),
                ('ended_by', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'ordering': ['-began_at'],
                'permissions': [('operate_hold', 'Can pause agents, steps and everything')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('kind', 'name'), name='hold_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['everything', 'agent', 'step'])), name='hold_kind_known')],
            },
        ),
        migrations.CreateModel(
            name='Act',
            fields=[
            ],
            options={
                'verbose_name': 'act',
                'verbose_name_plural': 'audit',
                'proxy': True,
                'default_permissions': ('view',),
                'indexes': [],
                'constraints': [],
            },
            bases=('workers.journal',),
        ),
        migrations.CreateModel(
            name='LiveStep',
            fields=[
                ('step', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='live', serialize=False, to='workers.step')),
                ('agent', models.CharField(max_length=100)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('processing', 'Processing'), ('error', 'Error'), ('blocked', 'Blocked')], max_length=20)),
                ('turn', models.DateTimeField()),
                ('not_before', models.DateTimeField(null=True)),
                ('look_at', models.DateTimeField(null=True)),
                ('is_deferred', models.BooleanField()),
                ('limit_key', models.CharField(max_length=400, null=True)),
            ],
            options={
                'db_table': 'workers_live',
            },
        ),
        migrations.AddField(
            model_name='journal',
            name='step',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='journal', to='workers.step'),
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cause', models.CharField(max_length=200)),
                ('code', models.CharField(max_length=60)),
                ('params', models.JSONField(null=True)),
                ('message', models.TextField(blank=True)),
                ('raised_at', models.DateTimeField()),
                ('last_raised_at', models.DateTimeField()),
                ('times', models.PositiveIntegerField(default=1)),
                ('acknowledged_at', models.DateTimeField(null=True)),
                ('comment', models.TextField(blank=True)),
                ('resolved_at', models.DateTimeField(null=True)),
                ('money', models.DecimalField(decimal_places=2, max_digits=16, null=True)),
                ('acknowledged_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('group_id', models.BigIntegerField(null=True)),
                ('step', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='workers.step')),
            ],
            options={
                'ordering': ['-last_raised_at'],
                'permissions': [('acknowledge_alert', 'Can acknowledge an alert')],
            },
        ),
        migrations.AddField(
            model_name='step',
            name='process',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='workers.process'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(fields=['subject'], name='process_subject_idx', opclasses=['varchar_pattern_ops']),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(('submission_key__isnull', False)), fields=['submission_key', 'workflow', 'key_use'], name='process_key_idx', opclasses=['varchar_pattern_ops', 'varchar_ops', 'int4_ops']),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(('exclusive__isnull', False)), fields=['exclusive', 'state', 'turn'], name='process_exclusive_idx'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(fields=['workflow', 'id'], name='process_workflow_idx'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(('state__in', ['compensating', 'pending', 'processing'])), fields=['id'], name='process_open_idx'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(('state', 'error')), fields=['id'], name='process_error_idx'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(('state__in', ['cancelled', 'compensated'])), fields=['state', 'id'], name='process_undone_idx'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(('needs_decision', True)), fields=['id'], name='process_decision_idx'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(models.Q(('lane', ''), _negated=True), ('state__in', ['pending', 'processing'])), fields=['lane', 'turn'], name='process_lane_idx'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(('finished_at__isnull', True), ('paused_at__isnull', False)), fields=['paused_at'], name='process_paused_idx'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(('finished_at__isnull', False), ('pruned_at__isnull', True)), fields=['finished_at'], name='process_prunable_idx'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(('deadline_at__isnull', False), ('state__in', ['error', 'pending', 'processing'])), fields=['deadline_at'], name='process_deadline_idx'),
        ),
        migrations.AddConstraint(
            model_name='process',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'processing', 'processed', 'error', 'compensating', 'compensated', 'cancelled'])), name='process_state_known'),
        ),
        migrations.AddConstraint(
            model_name='process',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state__in', ['cancelled', 'compensated', 'processed'])), models.Q(models.Q(('state__in', ['cancelled', 'compensated', 'processed']), _negated=True), ('finished_at__isnull', True)), _connector='OR'), name='process_finished_iff_final'),
        ),
        migrations.AddConstraint(
            model_name='process',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['compensating', 'compensated', 'cancelled']), _negated=True), ('outcome__in', ['compensated', 'cancelled', 'processing']), _connector='OR'), name='process_undone_has_outcome'),
        ),
        migrations.AddField(
            model_name='journal',
            name='process',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='journal', to='workers.process'),
        ),
        migrations.AddField(
            model_name='alert',
            name='process',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='workers.process'),
        ),
        migrations.AddIndex(
            model_name='receivedwebhook',
            index=models.Index(fields=['received_at'], name='webhook_received_idx'),
        ),
        migrations.AddConstraint(
            model_name='receivedwebhook',
            constraint=models.UniqueConstraint(fields=('provider', 'message_id'), name='webhook_taken_once'),
        ),
        migrations.CreateModel(
            name='Attribute',
            fields=[
                ('pk', models.CompositePrimaryKey('process', 'name', blank=True, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=50)),
                ('value', models.CharField(max_length=200)),
                ('process', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attributes', to='workers.process')),
            ],
            options={
                'indexes': [models.Index(fields=['name', 'value', 'process'], name='attribute_value_idx', opclasses=['varchar_ops', 'varchar_pattern_ops', 'int8_ops'])],
            },
        ),
        migrations.AddField(
            model_name='sink',
            name='process',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sinks', to='workers.process'),
        ),
        migrations.AddField(
            model_name='undorequest',
            name='process',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='undo_requests', to='workers.process'),
        ),
        migrations.AddIndex(
            model_name='livestep',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['agent', 'turn', 'not_before', 'step'], name='live_claimable_idx'),
        ),
        migrations.AddIndex(
            model_name='livestep',
            index=models.Index(condition=models.Q(('is_deferred', False), ('state', 'processing')), fields=['agent'], name='live_in_flight_idx'),
        ),
        migrations.AddIndex(
            model_name='livestep',
            index=models.Index(condition=models.Q(('is_deferred', True)), fields=['agent'], name='live_deferred_idx'),
        ),
        migrations.AddIndex(
            model_name='livestep',
            index=models.Index(condition=models.Q(('look_at__isnull', False)), fields=['look_at'], name='live_look_at_idx'),
        ),
        migrations.AddIndex(
            model_name='livestep',
            index=models.Index(condition=models.Q(('limit_key__isnull', False)), fields=['limit_key', 'state', 'turn', 'step'], name='live_key_idx'),
        ),
        migrations.AddIndex(
            model_name='livestep',
            index=models.Index(condition=models.Q(('state', 'blocked')), fields=['limit_key'], name='live_blocked_idx'),
        ),
        migrations.AddIndex(
            model_name='livestep',
            index=models.Index(condition=models.Q(('state', 'error')), fields=['step'], name='live_error_idx'),
        ),
        migrations.AddConstraint(
            model_name='livestep',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('look_at__isnull', False), ('state', 'processing')), models.Q(('is_deferred', False), ('look_at__isnull', True), ('state__in', ['pending', 'error', 'blocked'])), _connector='OR'), name='live_look_at_iff_processing'),
        ),
        migrations.AddIndex(
            model_name='step',
            index=models.Index(condition=models.Q(('reply__isnull', False)), fields=['id'], name='step_filed_reply_idx'),
        ),
        migrations.AddIndex(
            model_name='step',
            index=models.Index(condition=models.Q(('escalate_at__isnull', False)), fields=['escalate_at'], name='step_escalation_idx'),
        ),
        migrations.AddConstraint(
            model_name='step',
            constraint=models.UniqueConstraint(fields=('process', 'name'), name='step_name_unique'),
        ),
        migrations.AddConstraint(
            model_name='step',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'pending', 'processing', 'processed', 'error', 'skipped', 'compensated', 'cancelled'])), name='step_state_known'),
        ),
        migrations.AddConstraint(
            model_name='step',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('claim_id__isnull', False), ('complete_by__isnull', False), ('locked_by__isnull', False), ('started_at__isnull', False), ('state', 'processing')), models.Q(models.Q(('state', 'processing'), _negated=True), ('claim_id__isnull', True), ('complete_by__isnull', True), ('deferral__isnull', True), ('delivery__isnull', True), ('escalate_at__isnull', True), ('locked_by__isnull', True), ('reply__isnull', True), ('started_at__isnull', True)), _connector='OR'), name='step_claim_iff_processing'),
        ),
        migrations.AddConstraint(
            model_name='step',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('complete_by__isnull', True), ('started_at__isnull', True)), models.Q(('complete_by__gt', models.F('started_at')), ('started_at__isnull', False)), _connector='OR'), name='step_deadline_iff_started'),
        ),
        migrations.AddConstraint(
            model_name='step',
            constraint=models.CheckConstraint(condition=models.Q(('failure_count__lte', models.F('failure_threshold'))), name='step_failures_within_threshold'),
        ),
        migrations.AddConstraint(
            model_name='step',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'pending'), _negated=True), ('not_before__isnull', False), _connector='OR'), name='step_pending_has_not_before'),
        ),
        migrations.AddConstraint(
            model_name='step',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('result__isnull', False), ('state', 'processed')), ('state', 'compensated'), models.Q(models.Q(('state__in', ['processed', 'compensated']), _negated=True), ('result__isnull', True)), _connector='OR'), name='step_result_iff_processed'),
        ),
        migrations.AddIndex(
            model_name='journal',
            index=models.Index(fields=['process', 'id'], name='journal_process_idx'),
        ),
        migrations.AddIndex(
            model_name='journal',
            index=models.Index(condition=models.Q(('event', 'expired')), fields=['process'], name='journal_expired_idx'),
        ),
        migrations.AddIndex(
            model_name='journal',
            index=models.Index(condition=models.Q(django.db.models.lookups.Exact(django.db.models.functions.text.Left('actor', 9), models.Value('operator:'))), fields=['at', 'id', 'actor', 'event', 'step'], name='journal_people_idx'),
        ),
        migrations.AddConstraint(
            model_name='journal',
            constraint=models.UniqueConstraint(condition=models.Q(('after__isnull', True), ('attempt__isnull', False)), fields=('step', 'attempt', 'event'), name='journal_note_once_per_attempt'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('resolved_at__isnull', True)), fields=['id'], name='alert_unresolved_idx'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('group_id__isnull', True), ('resolved_at__isnull', True)), fields=['id'], name='alert_news_idx'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('group_id__isnull', False)), fields=['group_id', 'id'], name='alert_group_idx'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('group_id__isnull', False), ('resolved_at__isnull', True)), fields=['group_id', 'money'], name='alert_member_idx'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('acknowledged_at__isnull', False)), fields=['acknowledged_at'], name='alert_acknowledged_idx'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(condition=models.Q(('acknowledged_at__isnull', True)), fields=('cause',), name='alert_open_once_per_cause'),
        ),
        migrations.AddIndex(
            model_name='sink',
            index=models.Index(condition=models.Q(('last__gt', models.F('cursor')), ('state', 'open')), fields=['next_try_at', 'id'], name='sink_due_idx'),
        ),
        migrations.AddConstraint(
            model_name='sink',
            constraint=models.UniqueConstraint(fields=('process', 'kind', 'address'), name='sink_once'),
        ),
        migrations.AddConstraint(
            model_name='sink',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['queue', 'webhook'])), name='sink_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='sink',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'ended', 'undeliverable'])), name='sink_state_known'),
        ),
        migrations.AddIndex(
            model_name='undorequest',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['asked_at'], name='undo_request_waiting_idx'),
        ),
        migrations.AddIndex(
            model_name='undorequest',
            index=models.Index(fields=['asked_at'], name='undo_request_at_idx'),
        ),
        migrations.AddConstraint(
            model_name='undorequest',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['approved', 'declined', 'waiting'])), name='undo_request_state_known'),
        ),
        migrations.AddConstraint(
            model_name='undorequest',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'waiting')), fields=('process',), name='undo_request_waiting_once'),
        ),
        migrations.AddIndex(
            model_name='process',
            index=models.Index(condition=models.Q(('pruned_at__isnull', False)), fields=['finished_at'], name='process_pruned_idx'),
        ),
        migrations.AddIndex(
            model_name='step',
            index=models.Index(condition=models.Q(('undoes__isnull', False)), fields=['undoes'], name='step_undoes_idx'),
        ),
        migrations.CreateModel(
            name='ChildGroup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=80, unique=True)),
                ('workflow', models.CharField(max_length=100)),
                ('depth', models.PositiveSmallIntegerField()),
                ('at_once', models.PositiveIntegerField()),
                ('tolerate', models.FloatField()),
                ('total', models.PositiveIntegerField(null=True)),
                ('expanded_to', models.PositiveIntegerField(default=0)),
                ('born_to', models.PositiveIntegerField(default=0)),
                ('processed', models.PositiveIntegerField(default=0)),
                ('failed', models.PositiveIntegerField(default=0)),
                ('stopped', models.BooleanField(default=False)),
                ('is_undoing', models.BooleanField(default=False)),
                ('is_paused', models.BooleanField(default=False)),
                ('is_flagged', models.BooleanField(default=True)),
                ('step', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='child_groups', to='workers.step')),
            ],
        ),
        migrations.CreateModel(
            name='Child',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.PositiveIntegerField()),
                ('item', models.JSONField()),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('open', 'Open'), ('ended', 'Ended'), ('counted', 'Counted')], default='queued', max_length=10)),
                ('outcome', models.CharField(max_length=20, null=True)),
                ('process', models.OneToOneField(db_constraint=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='child', to='workers.process')),
                ('group', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='children', to='workers.childgroup')),
            ],
            options={
                'verbose_name_plural': 'children',
            },
        ),
        migrations.AddField(
            model_name='process',
            name='group',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workers.childgroup'),
        ),
        migrations.AddIndex(
            model_name='childgroup',
            index=models.Index(condition=models.Q(('is_flagged', True)), fields=['id'], name='childgroup_flagged_idx'),
        ),
        migrations.AddIndex(
            model_name='childgroup',
            index=models.Index(condition=models.Q(('stopped', False), ('is_undoing', True), _connector='OR'), fields=['id'], name='childgroup_active_idx'),
        ),
        migrations.AddConstraint(
            model_name='childgroup',
            constraint=models.CheckConstraint(condition=models.Q(('is_undoing', False), ('stopped', True), _connector='OR'), name='childgroup_undoing_is_stopped'),
        ),
        migrations.AddConstraint(
            model_name='childgroup',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('expanded_to', 0), ('total__isnull', True)), models.Q(('born_to__lte', models.F('expanded_to')), ('expanded_to__lte', models.F('total'))), _connector='OR'), name='childgroup_counts_within_total'),
        ),
        migrations.AddIndex(
            model_name='child',
            index=models.Index(condition=models.Q(('state__in', ['open', 'ended'])), fields=['state', 'group'], name='child_under_way_idx'),
        ),
        migrations.AddConstraint(
            model_name='child',
            constraint=models.UniqueConstraint(fields=('group', 'index'), name='child_index_unique'),
        ),
        migrations.AddConstraint(
            model_name='child',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'open', 'ended', 'counted'])), name='child_state_known'),
        ),
        migrations.AddConstraint(
            model_name='child',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('outcome__isnull', True), ('process__isnull', True), ('state', 'queued')), ('state', 'open'), models.Q(('outcome__isnull', False), ('state__in', ['ended', 'counted'])), _connector='OR'), name='child_outcome_once_ended'),
        ),
        migrations.RunPython(leave_room, migrations.RunPython.noop),
        migrations.RunPython(_live_steps.keep, _live_steps.let_go),
    ]
