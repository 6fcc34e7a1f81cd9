"""Every table of the shop, and indexes that Django has no words for (PostgreSQL)."""

import django.db.models.deletion
import orders.models.client
import orders.models.order
import uuid
from django.db import migrations, models

#: What is searched by its beginning; SQLite reads its table, which nobody fills with a million.
SEARCHED = {
    "order_name_idx": "upper(customer_name::text) text_pattern_ops",
    "order_email_idx": "upper(customer_email::text) text_pattern_ops",
}


def search_by_beginnings(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name, column in SEARCHED.items():
            schema_editor.execute(f"CREATE INDEX {name} ON orders_order ({column})")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('workers', '0001_tables'),
    ]

    operations = [
        migrations.CreateModel(
            name='ApiClient',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=40, unique=True)),
                ('is_active', models.BooleanField(default=True)),
                ('requests_per_minute', models.PositiveIntegerField(default=600)),
                ('webhook_secret', models.CharField(default=orders.models.client.new_webhook_secret, max_length=100)),
                ('old_webhook_secret', models.CharField(blank=True, max_length=100)),
                ('old_webhook_secret_until', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'API client',
                'ordering': ['name'],
                'permissions': [('register_client', 'Can register API clients'), ('activate_client', 'Can activate API clients'), ('deactivate_client', 'Can deactivate API clients'), ('limit_client', 'Can set how much an API client may ask'), ('issue_token', 'Can issue tokens to API clients'), ('rotate_token', 'Can rotate the tokens of API clients'), ('revoke_token', 'Can revoke tokens of API clients'), ('reveal_webhook_secret', 'Can see what webhooks to API clients are signed with'), ('rotate_webhook_secret', 'Can change what webhooks to API clients are signed with')],
            },
        ),
        migrations.CreateModel(
            name='DroppedLetters',
            fields=[
                ('sender', models.CharField(max_length=100, primary_key=True, serialize=False)),
                ('count', models.PositiveBigIntegerField(default=0)),
                ('bytes', models.PositiveBigIntegerField(default=0)),
                ('first_at', models.DateTimeField()),
                ('last_at', models.DateTimeField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='RateCount',
            fields=[
                ('key', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('period', models.BigIntegerField()),
                ('count', models.PositiveIntegerField()),
                ('ends_at', models.DateTimeField(db_index=True)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Order',
            fields=[
                ('number', models.BigAutoField(primary_key=True, serialize=False)),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('secret', models.CharField(default=orders.models.order.new_secret, editable=False, max_length=40, unique=True)),
                ('source', models.CharField(choices=[('shop', 'Shop'), ('api', 'HTTP API'), ('queue', 'Queue'), ('demo', 'Demo')], max_length=10)),
                ('submitter', models.CharField(blank=True, max_length=100)),
                ('body_hash', models.CharField(max_length=64)),
                ('reference', models.CharField(blank=True, max_length=100)),
                ('customer_name', models.CharField(max_length=120)),
                ('customer_email', models.EmailField(max_length=254)),
                ('customer_address', models.TextField(max_length=500)),
                ('total', models.DecimalField(decimal_places=2, max_digits=12)),
                ('created_at', models.DateTimeField(db_index=True)),
                ('process', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='workers.process')),
            ],
            options={
                'permissions': [('resubmit_order', 'Can resubmit an order in error'), ('decide_review', 'Can accept or decline a large order'), ('handle_return', 'Can receive and inspect what comes back')],
            },
        ),
        migrations.CreateModel(
            name='DeadLetter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('open', 'Open'), ('replayed', 'Replayed'), ('discarded', 'Discarded')], default='open', max_length=10)),
                ('received_at', models.DateTimeField()),
                ('message_id', models.CharField(blank=True, max_length=200)),
                ('client', models.CharField(blank=True, max_length=100)),
                ('sender', models.CharField(blank=True, db_default='', max_length=100)),
                ('properties', models.JSONField(default=dict)),
                ('body', models.BinaryField()),
                ('reasons', models.JSONField(default=list)),
                ('cause', models.CharField(blank=True, db_default='', max_length=200)),
                ('corrected', models.BinaryField(null=True)),
                ('resolved_at', models.DateTimeField(null=True)),
                ('resolved_by', models.CharField(blank=True, max_length=200)),
                ('comment', models.TextField(blank=True)),
                ('order', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='orders.order')),
            ],
            options={
                'ordering': ['-received_at'],
                'permissions': [('resolve_dead_letter', 'Can replay and discard dead letters'), ('correct_dead_letter', 'Can correct dead letters and replay them')],
            },
        ),
        migrations.CreateModel(
            name='Product',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sku', models.CharField(max_length=40, unique=True, verbose_name='SKU')),
                ('name', models.CharField(max_length=120)),
                ('description', models.TextField(blank=True)),
                ('price', models.DecimalField(decimal_places=2, max_digits=10)),
                ('stock', models.PositiveIntegerField(default=0)),
                ('picture', models.CharField(blank=True, max_length=120)),
                ('is_listed', models.BooleanField(default=True)),
            ],
            options={
                'ordering': ['sku'],
                'constraints': [models.CheckConstraint(condition=models.Q(('price__gt', 0)), name='product_price_positive')],
            },
        ),
        migrations.CreateModel(
            name='OrderLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sku', models.CharField(max_length=40, verbose_name='SKU')),
                ('name', models.CharField(max_length=120)),
                ('quantity', models.PositiveIntegerField()),
                ('unit_price', models.DecimalField(decimal_places=2, max_digits=10)),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='orders.order')),
                ('product', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orders.product')),
            ],
        ),
        migrations.CreateModel(
            name='Reservation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=120, unique=True)),
                ('quantity', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField()),
                ('released_at', models.DateTimeField(null=True)),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reservations', to='orders.order')),
                ('product', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orders.product')),
            ],
        ),
        migrations.CreateModel(
            name='Return',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='returns', to='orders.order')),
                ('process', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='workers.process')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('prefix', models.CharField(max_length=12, unique=True)),
                ('digest', models.CharField(max_length=64)),
                ('scopes', models.JSONField(default=list)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to='orders.apiclient')),
            ],
            options={
                'verbose_name': 'API token',
                'ordering': ['-created_at'],
                'constraints': [models.CheckConstraint(condition=models.Q(('expires_at__isnull', True), ('expires_at__gt', models.F('created_at')), _connector='OR'), name='token_expires_after_created')],
            },
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(fields=['total'], name='order_total_idx'),
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(fields=['reference'], name='order_reference_idx', opclasses=['varchar_pattern_ops']),
        ),
        migrations.AddConstraint(
            model_name='order',
            constraint=models.CheckConstraint(condition=models.Q(('total__gt', 0)), name='order_total_positive'),
        ),
        migrations.AddIndex(
            model_name='deadletter',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['id'], name='dead_letter_open_idx'),
        ),
        migrations.AddIndex(
            model_name='deadletter',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['sender'], name='dead_letter_sender_idx'),
        ),
        migrations.AddIndex(
            model_name='deadletter',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['cause', 'client', 'sender', 'received_at', 'id'], name='dead_letter_group_idx'),
        ),
        migrations.AddConstraint(
            model_name='orderline',
            constraint=models.CheckConstraint(condition=models.Q(('quantity__gt', 0)), name='line_quantity_positive'),
        ),
        migrations.AddConstraint(
            model_name='orderline',
            constraint=models.UniqueConstraint(fields=('order', 'product'), name='line_product_once'),
        ),
        migrations.AddConstraint(
            model_name='reservation',
            constraint=models.CheckConstraint(condition=models.Q(('released_at__isnull', True), ('released_at__gte', models.F('created_at')), _connector='OR'), name='reservation_released_after_created'),
        ),
        # They go with their table.
        migrations.RunPython(search_by_beginnings, migrations.RunPython.noop),
    ]
