"""The test database forgets what a test did to its indexes, too."""

from contextlib import closing

import pytest
from django.core.management import call_command
from django.db import connection

from orders.models import Product

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


def _unready() -> list[str]:
    """Return the indexes that no plan may follow while an older transaction is open."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexrelid::regclass::text FROM pg_index WHERE indcheckxmin")
        return [name for (name,) in cursor.fetchall()]


def test_an_index_made_over_updated_rows_is_made_again():
    product = Product.objects.create(sku="LAMP", name="Lamp", price="9.50", stock=1)
    elsewhere = connection.copy()
    with closing(elsewhere), elsewhere.cursor() as older, connection.cursor() as cursor:
        older.execute("BEGIN; SELECT txid_current()")
        Product.objects.filter(pk=product.pk).update(name="Lantern")
        cursor.execute("CREATE UNIQUE INDEX of_a_test_idx ON orders_product (name)")
        try:
            before = _unready()

            call_command("flush", interactive=False, verbosity=0, reset_sequences=False)

            after = _unready()
        finally:
            cursor.execute("DROP INDEX of_a_test_idx")

    assert before == ["of_a_test_idx"]
    assert after == []
