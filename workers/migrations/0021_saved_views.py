"""Saved views of the lists of the admin."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workers', '0020_triggers_always_write'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
