"""Every table of the desk."""

import django.core.validators
import django.db.models.deletion
import uuid
import workers.desk.models.route
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('workers', '0001_tables'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Incident',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=100)),
                ('kind', models.CharField(max_length=20)),
                ('code', models.CharField(max_length=60)),
                ('params', models.JSONField(default=dict)),
                ('severity', models.PositiveSmallIntegerField()),
                ('state', models.CharField(choices=[('open', 'open'), ('acknowledged', 'taken'), ('snoozed', 'snoozed'), ('resolved', 'resolved')], default='open', max_length=20)),
                ('opened_at', models.DateTimeField()),
                ('last_at', models.DateTimeField()),
                ('members', models.PositiveIntegerField(default=0)),
                ('total', models.PositiveIntegerField(default=0)),
                ('money', models.DecimalField(decimal_places=2, max_digits=16, null=True)),
                ('snooze_until', models.DateTimeField(null=True)),
                ('resolved_at', models.DateTimeField(null=True)),
                ('reopened', models.PositiveIntegerField(default=0)),
                ('assignee', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-last_at', '-id'],
                'permissions': [('acknowledge_incident', 'Can take an incident'), ('assign_incident', 'Can assign an incident'), ('snooze_incident', 'Can snooze an incident'), ('resolve_incident', 'Can resolve an incident by hand'), ('note_incident', 'Can write notes on an incident'), ('hand_over_incident', 'Can see the hand-over sheet and mail it')],
                'indexes': [models.Index(condition=models.Q(('resolved_at__isnull', True)), fields=['severity', 'opened_at'], name='incident_open_idx'), models.Index(fields=['-resolved_at', '-last_at', '-id'], name='incident_list_idx'), models.Index(condition=models.Q(('resolved_at__isnull', False)), fields=['key', 'resolved_at'], name='incident_resolved_idx'), models.Index(condition=models.Q(('resolved_at__isnull', False)), fields=['resolved_at'], name='incident_prunable_idx')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('resolved_at__isnull', True)), fields=('key',), name='incident_once_per_key'), models.CheckConstraint(condition=models.Q(('state__in', ['open', 'acknowledged', 'snoozed', 'resolved'])), name='incident_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('snooze_until__isnull', False), ('state', 'snoozed')), models.Q(models.Q(('state', 'snoozed'), _negated=True), ('snooze_until__isnull', True)), _connector='OR'), name='incident_snoozed_until'), models.CheckConstraint(condition=models.Q(models.Q(('resolved_at__isnull', False), ('state', 'resolved')), models.Q(models.Q(('state', 'resolved'), _negated=True), ('resolved_at__isnull', True)), _connector='OR'), name='incident_resolved_since')],
            },
        ),
        migrations.CreateModel(
            name='Preferences',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('time_zone', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('has_no_keys', models.BooleanField(db_default=False, default=False)),
            ],
            options={
                'verbose_name': 'preferences',
                'verbose_name_plural': 'preferences',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ProbeResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('level', models.CharField(max_length=10)),
                ('findings', models.JSONField(default=list)),
                ('looked_at', models.DateTimeField()),
                ('since', models.DateTimeField()),
                ('errors', models.PositiveIntegerField(default=0)),
                ('seconds', models.FloatField(default=0)),
            ],
            options={
                'verbose_name': 'probe',
                'verbose_name_plural': 'doctor',
                'ordering': ['name'],
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('seen_at', models.DateTimeField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='BulkJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('verb', models.CharField(max_length=20)),
                ('state', models.CharField(choices=[('planned', 'planned'), ('running', 'running'), ('paused', 'paused'), ('stopped', 'stopped'), ('done', 'done')], db_default='planned', default='planned', max_length=10)),
                ('actor', models.CharField(max_length=200)),
                ('reason', models.TextField()),
                ('params', models.JSONField(default=dict)),
                ('source', models.JSONField(default=dict)),
                ('rate_per_second', models.FloatField(null=True)),
                ('tokens', models.FloatField(db_default=0, default=0)),
                ('refilled_at', models.DateTimeField(null=True)),
                ('sample', models.PositiveIntegerField(db_default=0, default=0)),
                ('total', models.PositiveIntegerField(db_default=0, default=0)),
                ('done', models.PositiveIntegerField(db_default=0, default=0)),
                ('refused', models.PositiveIntegerField(db_default=0, default=0)),
                ('created_at', models.DateTimeField()),
                ('begun_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('steered_by', models.CharField(blank=True, db_default='', default='', max_length=200)),
            ],
            options={
                'verbose_name': 'job',
                'verbose_name_plural': 'jobs',
                'ordering': ['-id'],
                'permissions': [('operate_bulkjob', 'Can pause, resume and stop a job')],
                'indexes': [models.Index(condition=models.Q(('state', 'running')), fields=['id'], name='job_running_idx'), models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='job_ended_idx')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['done', 'paused', 'planned', 'running', 'stopped'])), name='job_state_known'), models.CheckConstraint(condition=models.Q(('rate_per_second__isnull', True), ('rate_per_second__gt', 0), _connector='OR'), name='job_rate_above_zero')],
            },
        ),
        migrations.CreateModel(
            name='Gauge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('agent', models.CharField(max_length=100)),
                ('at', models.DateTimeField()),
                ('span', models.PositiveIntegerField(choices=[(0, 'all time'), (60, 'minute'), (600, 'ten minutes'), (3600, 'hour')], default=60)),
                ('pending', models.PositiveIntegerField()),
                ('in_flight', models.PositiveIntegerField()),
                ('failed', models.PositiveIntegerField()),
                ('window_size', models.PositiveIntegerField()),
                ('oldest_seconds', models.FloatField(null=True)),
                ('breaker', models.CharField(choices=[('closed', 'closed'), ('forced_closed', 'forced closed'), ('half_open', 'half open'), ('forced_open', 'forced open'), ('open', 'open')], max_length=20)),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('span', 'at', 'agent'), name='gauge_once'), models.CheckConstraint(condition=models.Q(('span__in', [0, 60, 600, 3600])), name='gauge_span_known'), models.CheckConstraint(condition=models.Q(('breaker__in', ['closed', 'forced_closed', 'half_open', 'forced_open', 'open'])), name='gauge_breaker_known')],
            },
        ),
        migrations.CreateModel(
            name='Minute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('agent', models.CharField(blank=True, max_length=100)),
                ('at', models.DateTimeField()),
                ('span', models.PositiveIntegerField(choices=[(0, 'all time'), (60, 'minute'), (600, 'ten minutes'), (3600, 'hour')], default=60)),
                ('counts', models.JSONField(default=dict)),
                ('events', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ('calls', models.JSONField(default=dict)),
                ('waits', models.JSONField(default=dict)),
                ('workers', models.PositiveIntegerField(default=0)),
            ],
            options={
                'verbose_name': 'health',
                'verbose_name_plural': 'health',
                'default_permissions': ('view',),
                'constraints': [models.UniqueConstraint(fields=('span', 'at', 'agent'), name='minute_once'), models.CheckConstraint(condition=models.Q(('span__in', [0, 60, 600, 3600])), name='minute_span_known')],
            },
        ),
        migrations.CreateModel(
            name='Route',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('kind', models.CharField(choices=[('mail', 'Mail'), ('webhook', 'Signed webhook'), ('slack', 'Slack'), ('teams', 'Microsoft Teams'), ('pagerduty', 'PagerDuty')], max_length=20, verbose_name='kind')),
                ('address', models.CharField(max_length=500, verbose_name='address')),
                ('secret', models.CharField(blank=True, max_length=200, verbose_name='secret')),
                ('kinds', models.JSONField(blank=True, default=list, verbose_name='kinds of incidents')),
                ('agents', models.JSONField(blank=True, default=list, verbose_name='agents')),
                ('least_severity', models.PositiveSmallIntegerField(choices=[(1, 'Only what stops everything'), (2, 'What stops some processes, too'), (3, 'Everything')], default=3, verbose_name='least severity')),
                ('quiet_from', models.TimeField(blank=True, null=True, verbose_name='quiet from')),
                ('quiet_to', models.TimeField(blank=True, null=True, verbose_name='quiet to')),
                ('time_zone', models.CharField(default=workers.desk.models.route.default_time_zone, max_length=60, verbose_name='time zone')),
                ('language', models.CharField(blank=True, max_length=20, verbose_name='language')),
                ('repeat_seconds', models.PositiveIntegerField(default=0, help_text='Until somebody takes the incident. 0: sent once.', validators=[django.core.validators.MaxValueValidator(604800)], verbose_name='repeat after seconds')),
                ('digest_seconds', models.PositiveIntegerField(default=0, help_text='At most one digest in this many seconds. 0: one message per incident.', validators=[django.core.validators.MaxValueValidator(604800)], verbose_name='gather for seconds')),
                ('hourly_limit', models.PositiveIntegerField(default=20, help_text='Beyond it one digest leaves every ten minutes.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='messages an hour')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('muted_until', models.DateTimeField(blank=True, null=True, verbose_name='muted until')),
            ],
            options={
                'ordering': ['name'],
                'permissions': [('test_route', 'Can send a test to a route'), ('mute_route', 'Can mute a route')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['mail', 'webhook', 'slack', 'teams', 'pagerduty'])), name='route_kind_known')],
            },
        ),
        migrations.CreateModel(
            name='BulkItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('waiting', 'not worked yet'), ('landed', 'changed'), ('refused', 'refused')], db_default='waiting', default='waiting', max_length=10)),
                ('refusal', models.JSONField(null=True)),
                ('process', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='bulk_items', to='workers.process')),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='desk.bulkjob')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['job', 'process'], name='item_waiting_idx'), models.Index(condition=models.Q(('state', 'refused')), fields=['job', 'process'], name='item_refused_idx')],
                'constraints': [models.UniqueConstraint(fields=('job', 'process'), name='item_once_per_job'), models.CheckConstraint(condition=models.Q(('state__in', ['landed', 'refused', 'waiting'])), name='item_state_known')],
            },
        ),
        migrations.CreateModel(
            name='Note',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('at', models.DateTimeField()),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='desk.incident')),
                ('process', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='workers.process')),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['at'], name='note_at_idx')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('incident__isnull', False), ('process__isnull', True)), models.Q(('incident__isnull', True), ('process__isnull', False)), _connector='OR'), name='note_on_one_thing')],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('event', models.CharField(choices=[('opened', 'opened'), ('repeat', 'repeated'), ('acknowledged', 'taken'), ('resolved', 'resolved'), ('digest', 'digest'), ('test', 'test')], max_length=20)),
                ('reopened', models.PositiveIntegerField(default=0)),
                ('number', models.PositiveIntegerField(default=0)),
                ('at', models.DateTimeField()),
                ('state', models.CharField(choices=[('due', 'due'), ('delivered', 'delivered'), ('failed', 'given up'), ('gathered', 'in a digest')], default='due', max_length=20)),
                ('tries', models.PositiveIntegerField(default=0)),
                ('next_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('problem', models.JSONField(null=True)),
                ('answer_status', models.PositiveSmallIntegerField(null=True)),
                ('answer', models.CharField(blank=True, max_length=400)),
                ('digest', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='gathered', to='desk.delivery')),
                ('incident', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='desk.incident')),
                ('route', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='desk.route')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'ordering': ['-id'],
                'permissions': [('resend_delivery', 'Can have a delivery sent again')],
                'indexes': [models.Index(condition=models.Q(('state', 'due')), fields=['next_at', 'id'], name='delivery_due_idx'), models.Index(fields=['at'], name='delivery_at_idx'), models.Index(fields=['route', '-id'], name='delivery_of_route_idx'), models.Index(fields=['state', '-id'], name='delivery_state_idx')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('incident__isnull', False)), fields=('route', 'incident', 'reopened', 'event', 'number'), name='delivery_once'), models.CheckConstraint(condition=models.Q(('state__in', ['due', 'delivered', 'failed', 'gathered'])), name='delivery_state_known'), models.CheckConstraint(condition=models.Q(('event__in', ['opened', 'repeat', 'acknowledged', 'resolved', 'digest', 'test'])), name='delivery_event_known')],
            },
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('of_list', models.CharField(max_length=100, verbose_name='list')),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('query', models.TextField(verbose_name='narrowed by')),
                ('is_shared', models.BooleanField(default=False, help_text='Everybody who may see the list sees this view above it.', verbose_name='shared')),
                ('created_at', models.DateTimeField(verbose_name='saved')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
            ],
            options={
                'verbose_name': 'saved view',
                'verbose_name_plural': 'saved views',
                'ordering': ['of_list', 'name', 'id'],
                'default_permissions': ('change', 'delete'),
                'indexes': [models.Index(condition=models.Q(('is_shared', True)), fields=['of_list', 'name'], name='saved_view_shared_idx')],
                'constraints': [models.UniqueConstraint(fields=('owner', 'of_list', 'name'), name='saved_view_named_once')],
            },
        ),
    ]
