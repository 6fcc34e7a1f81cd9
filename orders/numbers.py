"""Order numbers: one is taken before the order's row exists, for its process to carry."""

from django.db import connection


def next_order_number() -> int:
    """Take the next order number; must run inside the transaction that stores the order.

    PostgreSQL: from the column's own sequence, so a rolled-back order leaves a gap.
    SQLite: one past the highest ever used, which the IMMEDIATE transaction keeps ours.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT nextval(pg_get_serial_sequence('orders_order', 'number'))")
            return int(cursor.fetchone()[0])
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = 'orders_order'")
        row = cursor.fetchone()
        return int(row[0]) + 1 if row else 1
