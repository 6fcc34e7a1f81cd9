"""Order numbers, taken before the order's row exists, because its process carries the number."""

from django.db import connection

from workers import durable


def next_order_number() -> int:
    """Take the next order number; must run inside the transaction that stores the order.

    PostgreSQL: from the column's own sequence, so a rolled-back order leaves a gap.
    SQLite: one past the highest ever used, which the IMMEDIATE transaction reserves.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT nextval(pg_get_serial_sequence('orders_order', 'number'))")
            return int(cursor.fetchone()[0])
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = 'orders_order'")
        row = cursor.fetchone()
        return int(row[0]) + 1 if row else 1


def skip_to(number: int) -> bool:
    """Move the next order number up to ``number``.  False: it is that high already.

    PostgreSQL: waits for orders that are being stored, and must run as the sequence's owner.
    """
    with durable("numbers.skip_to"), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_get_serial_sequence('orders_order', 'number')")
            sequence = cursor.fetchone()[0]
            # The name comes from the database itself.
            cursor.execute(f"SELECT last_value, is_called FROM {sequence}")
            last, is_called = cursor.fetchone()
            if last + is_called >= number:
                return False
            # Unlike setval, this is rolled back with the caller's transaction.
            cursor.execute(f"ALTER SEQUENCE {sequence} RESTART WITH {number:d}")
            return True
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = 'orders_order'")
        row = cursor.fetchone()
        if row is None:
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('orders_order', 0)")
        elif row[0] + 1 >= number:
            return False
        cursor.execute(
            "UPDATE sqlite_sequence SET seq = %s WHERE name = 'orders_order'", [number - 1]
        )
        return number > 1 or row is None
