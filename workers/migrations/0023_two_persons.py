"""Requests to undo what takes two persons."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workers', '0022_fewer_bytes'),
    ]

    operations = [
        migrations.CreateModel(
            name='UndoRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('verb', models.CharField(max_length=20)),
                ('step', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('state', models.CharField(choices=[('waiting', 'waits for a second person'), ('approved', 'approved'), ('declined', 'declined')], db_default='waiting', default='waiting', max_length=10)),
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
                ('process', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='undo_requests', to='workers.process')),
            ],
            options={
                'verbose_name': 'request to undo',
                'verbose_name_plural': 'requests to undo',
                'ordering': ['-id'],
                'permissions': [('decide_undorequest', 'Can approve and decline requests to undo')],
                'default_permissions': ('view',),
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['asked_at'], name='undo_request_waiting_idx'), models.Index(fields=['asked_at'], name='undo_request_at_idx')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['approved', 'declined', 'waiting'])), name='undo_request_state_known'), models.UniqueConstraint(condition=models.Q(('state', 'waiting')), fields=('process',), name='undo_request_waiting_once')],
            },
        ),
    ]
