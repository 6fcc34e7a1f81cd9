"""Django 5.2: transactions, and what it does not tell its checks."""

import inspect

import pytest
from django.core.checks import registry
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import Atomic

pytestmark = pytest.mark.django_db(transaction=True)


def test_atomic_is_a_class_whose_end_takes_the_error():
    """``failpoints.durable`` is a subclass; where ``Atomic`` ends otherwise it must follow."""
    assert list(inspect.signature(Atomic.__init__).parameters) == [
        *("self", "using", "savepoint", "durable")
    ]
    assert list(inspect.signature(Atomic.__exit__).parameters) == [
        *("self", "exc_type", "exc_value", "traceback")
    ]


@pytest.mark.postgresql
def test_a_transaction_that_is_over_already_is_ended_without_a_word():
    """``transactions.durable`` sends COMMIT with the last write, before Django asks for it.

    Where Django keeps books of its own on the server's transaction, that must be told to it.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE canary (id int) ON COMMIT PRESERVE ROWS")
        connection.connection.execute("COMMIT")

    assert connection.get_autocommit()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM canary")
        assert cursor.fetchone() == (0,)
        cursor.execute("DROP TABLE canary")


def test_django_cannot_send_statements_without_waiting_for_each():
    """Red when it can: then pipelines, BEGIN and COMMIT may be its own (``workers/store/db``)."""
    assert [name for name in dir(BaseDatabaseWrapper) if "pipeline" in name] == []


def test_checks_are_not_told_which_command_runs_them():
    """Red when they are: then ``workers.ops.checks.is_asked_for`` need not walk the stack."""
    assert set(inspect.signature(registry.run_checks).parameters) == {
        *("app_configs", "tags", "include_deployment_checks", "databases")
    }
