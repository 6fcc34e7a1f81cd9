"""Who is told of incidents, and what they were told."""

import django.core.validators
import django.db.models.deletion
import uuid
import workers.models.route
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workers', '0011_incidents'),
    ]

    operations = [
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
                ('time_zone', models.CharField(default=workers.models.route.default_time_zone, max_length=60, verbose_name='time zone')),
                ('language', models.CharField(blank=True, max_length=20, verbose_name='language')),
                ('repeat_seconds', models.PositiveIntegerField(default=0, help_text='Until somebody takes the incident. 0: it is told once.', validators=[django.core.validators.MaxValueValidator(604800)], verbose_name='repeat after seconds')),
                ('digest_seconds', models.PositiveIntegerField(default=0, help_text='One message for everything, so often at most. 0: one for each incident.', validators=[django.core.validators.MaxValueValidator(604800)], verbose_name='gather for seconds')),
                ('hourly_limit', models.PositiveIntegerField(default=20, help_text='Beyond it one message for everything leaves every ten minutes.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='messages an hour')),
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
                ('answer_status', models.PositiveSmallIntegerField(null=True)),
                ('answer', models.CharField(blank=True, max_length=400)),
                ('digest', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='gathered', to='workers.delivery')),
                ('incident', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='workers.incident')),
                ('route', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='workers.route')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'ordering': ['-id'],
                'permissions': [('resend_delivery', 'Can have a delivery sent again')],
                'indexes': [models.Index(condition=models.Q(('state', 'due')), fields=['next_at', 'id'], name='delivery_due_idx'), models.Index(fields=['at'], name='delivery_at_idx'), models.Index(fields=['route', '-id'], name='delivery_of_route_idx'), models.Index(fields=['state', '-id'], name='delivery_state_idx')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('incident__isnull', False)), fields=('route', 'incident', 'reopened', 'event', 'number'), name='delivery_once'), models.CheckConstraint(condition=models.Q(('state__in', ['due', 'delivered', 'failed', 'gathered'])), name='delivery_state_known'), models.CheckConstraint(condition=models.Q(('event__in', ['opened', 'repeat', 'acknowledged', 'resolved', 'digest', 'test'])), name='delivery_event_known')],
            },
        ),
    ]
