"""Transactions whose BEGIN leaves with their first statements, and what they wait for."""

import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from psycopg import IsolationLevel

from tests.integration.conftest import NOW, claim
from tests.integration.test_pipelined import held, held_elsewhere, hold
from tests.integration.test_store_settling import a_result
from workers import scheduler
from workers.client.submission import submit
from workers.models import Process
from workers.store import leases
from workers.store.db import dialect, prepared_plans
from workers.store.settle import settle_replies
from workers.testing.agent_processes import room as anywhere

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


class _Off(Exception):
    pass


@transaction.atomic
def _hold_in_vain(name: str) -> None:
    hold(name)
    raise _Off


def waits_of(verb: Callable[[], Any]) -> int:
    """Return how often a verb sent something and waited for its answer, as libpq traces it."""
    server = connection.connection.pgconn
    with tempfile.TemporaryFile("w+") as trace:
        server.trace(trace.fileno())
        try:
            verb()
        finally:
            server.untrace()
        trace.seek(0)
        sent = [line.split("\t") for line in trace if "\tF\t" in line]
    count = Counter(fields[fields.index("F") + 2].strip() for fields in sent)
    return count["Sync"] + count["Query"]


def test_a_lone_order_waits_for_the_database_as_often_as_is_said(toy):
    def settle() -> None:
        replies = [a_result(taken[0])]
        settled = settle_replies.apply(replies, "scheduler", NOW, own_room=anywhere())
        assert (settled.applied, len(settled.claims)) == (1, 1)

    toy()
    taken = claim()
    settle()

    assert waits_of(toy) == 2
    assert waits_of(lambda: taken.extend(claim())) == 4
    taken = taken[-1:]
    assert waits_of(settle) == 2
    # Whose instant nobody gives asks for it.
    assert waits_of(lambda: submit("toy_line", subject="Toy", input={})) == 3


def test_a_look_asks_for_due_steps_and_for_all_else_at_once():
    assert leases.is_due(leases.POLL, 3600)

    assert waits_of(scheduler.advance) == 2


def test_a_batch_locks_flow_rows_once_it_knows_whose(toy):
    def settle() -> None:
        replies = [a_result(one) for one in taken]
        settled = settle_replies.apply(replies, "scheduler", NOW, own_room=anywhere())
        assert (settled.applied, len(settled.claims)) == (2, 2)

    toy()
    toy()
    taken = claim()
    settle()

    toy()
    toy()
    taken = claim()
    assert waits_of(settle) == 3


def test_what_left_with_its_begin_is_rolled_back_with_the_rest():
    def write() -> None:
        with prepared_plans.kept(), transaction.atomic():
            with dialect.pipelined():
                hold("a")
            hold("b")
            raise _Off

    with pytest.raises(_Off):
        write()

    assert held() == []


def test_what_left_with_its_begin_is_committed_with_the_rest_only():
    with prepared_plans.kept(), transaction.atomic():
        with dialect.pipelined():
            hold("a")
        assert held_elsewhere() == []

    assert held() == ["a"]
    # The next one is begun as ever.
    with pytest.raises(_Off):
        _hold_in_vain("b")
    assert held() == ["a"]


def test_a_savepoint_within_is_rolled_back_alone():
    with prepared_plans.kept(), transaction.atomic():
        with dialect.pipelined():
            hold("a")
        with pytest.raises(_Off):
            _hold_in_vain("b")
        hold("c")

    assert held() == ["a", "c"]


def test_a_transaction_that_is_begun_otherwise_is_left_to_its_library():
    connection.ensure_connection()
    connection.connection.isolation_level = IsolationLevel.REPEATABLE_READ
    try:
        with prepared_plans.kept(), transaction.atomic():
            with dialect.pipelined():
                level = dialect.send("SHOW transaction_isolation")
            assert level() == [("repeatable read",)]
    finally:
        connection.connection.isolation_level = None


def test_a_caller_s_transaction_is_as_ever(toy):
    made = toy()
    with transaction.atomic():
        with dialect.pipelined():
            hold("a")
        # A server-side cursor that locks: there is none that outlives its transaction.
        rows = Process.objects.select_for_update().iterator(chunk_size=10)
        assert [row.pk for row in rows] == [made.pk]


def test_who_commits_by_hand_goes_on_to_do_so():
    transaction.set_autocommit(False)
    try:
        with prepared_plans.kept(), dialect.pipelined():
            hold("a")
        transaction.commit()
        hold("b")
        transaction.rollback()
        kept = held()
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)

    assert kept == ["a"]
