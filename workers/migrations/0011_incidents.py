"""Alerts of one cause belong to an incident, which operators take, snooze and resolve."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workers', '0010_processes_by_subject_and_workflow'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Note',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddField(
            model_name='alert',
            name='money',
            field=models.DecimalField(decimal_places=2, max_digits=16, null=True),
        ),
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
                'permissions': [('acknowledge_incident', 'Can take an incident'), ('assign_incident', 'Can assign an incident'), ('snooze_incident', 'Can snooze an incident'), ('resolve_incident', 'Can resolve an incident by hand'), ('note_incident', 'Can write notes on an incident')],
            },
        ),
        migrations.AddField(
            model_name='alert',
            name='incident',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='alerts', to='workers.incident'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('incident__isnull', True), ('resolved_at__isnull', True)), fields=['id'], name='alert_uncollected_idx'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('incident__isnull', False)), fields=['incident', 'id'], name='alert_incident_idx'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('incident__isnull', False), ('resolved_at__isnull', True)), fields=['incident', 'money'], name='alert_member_idx'),
        ),
        migrations.AddField(
            model_name='note',
            name='author',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='note',
            name='incident',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='workers.incident'),
        ),
        migrations.AddIndex(
            model_name='incident',
            index=models.Index(condition=models.Q(('resolved_at__isnull', True)), fields=['severity', 'opened_at'], name='incident_open_idx'),
        ),
        migrations.AddIndex(
            model_name='incident',
            index=models.Index(fields=['-resolved_at', '-last_at', '-id'], name='incident_list_idx'),
        ),
        migrations.AddIndex(
            model_name='incident',
            index=models.Index(condition=models.Q(('resolved_at__isnull', False)), fields=['key', 'resolved_at'], name='incident_resolved_idx'),
        ),
        migrations.AddIndex(
            model_name='incident',
            index=models.Index(condition=models.Q(('resolved_at__isnull', False)), fields=['resolved_at'], name='incident_prunable_idx'),
        ),
        migrations.AddConstraint(
            model_name='incident',
            constraint=models.UniqueConstraint(condition=models.Q(('resolved_at__isnull', True)), fields=('key',), name='incident_once_per_key'),
        ),
        migrations.AddConstraint(
            model_name='incident',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'acknowledged', 'snoozed', 'resolved'])), name='incident_state_known'),
        ),
        migrations.AddConstraint(
            model_name='incident',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('snooze_until__isnull', False), ('state', 'snoozed')), models.Q(models.Q(('state', 'snoozed'), _negated=True), ('snooze_until__isnull', True)), _connector='OR'), name='incident_snoozed_until'),
        ),
        migrations.AddConstraint(
            model_name='incident',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('resolved_at__isnull', False), ('state', 'resolved')), models.Q(models.Q(('state', 'resolved'), _negated=True), ('resolved_at__isnull', True)), _connector='OR'), name='incident_resolved_since'),
        ),
    ]
