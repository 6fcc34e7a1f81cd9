"""Requests for approval keep what else the verb takes."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workers', '0025_live_workers'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='undorequest',
            options={'default_permissions': ('view',), 'ordering': ['-id'], 'permissions': [('decide_undorequest', 'Can approve and decline requests for approval')], 'verbose_name': 'request for approval', 'verbose_name_plural': 'requests for approval'},
        ),
        migrations.AddField(
            model_name='undorequest',
            name='given',
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
    ]
