"""Plans that a connection keeps: which statements have one, and that it serves large tables."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import DataError, OperationalError, ProgrammingError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.factories import SinkFactory
from tests.integration.conftest import claim
from tests.integration.test_store_settling import Toy, a_result, started
from workers import scheduler
from workers.models import Process, Step
from workers.store.claims import claim_steps, request_data
from workers.store.db import dialect, prepared_plans
from workers.store.expire import expire_claims
from workers.store.settle import settle_replies
from workers.testing.agent_processes import room as anywhere

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


@pytest.fixture(autouse=True)
def a_new_connection() -> Iterator[None]:
    connection.close()
    yield
    connection.close()


def _kept() -> dict[str, str]:
    """Return the statements whose plans the connection keeps, by their names."""
    return dict(dialect.fetch("SELECT name, statement FROM pg_prepared_statements"))


def _each_verb(toy: Toy) -> None:
    """Run every verb whose plans are kept, in tables that are all but empty."""
    now = timezone.now()
    SinkFactory(process=toy(), address="q", last=1, next_try_at=now)
    settle_replies.apply([a_result(started())], "s1", own_room=anywhere())
    toy()
    toy()
    several = claim()
    settle_replies.apply([a_result(one) for one in several], "s1", own_room=anywhere())
    settle_replies.advance([Process.objects.latest("pk").pk], "s1")
    request_data.material(claim_steps.claim_due({"toy.alpha", "toy.beta"}, anywhere()))
    _expire_some(toy)


def _expire_some(toy: Toy) -> None:
    """Have steps expire, some for the first time and some for the last: at work, all of them."""
    # Not those that have expired before, some of which are due again.
    Step.objects.filter(state="pending").update(not_before=timezone.now() + timedelta(days=1))
    for _ in range(4):
        toy()
    past = timezone.now() - timedelta(minutes=5)
    found = [one.step_id for one in claim_steps.claim_due({"toy.alpha"}, anywhere())]
    Step.objects.filter(pk__in=found).update(
        started_at=past - timedelta(seconds=30), complete_by=past
    )
    tired = found[::2]
    Step.objects.filter(pk__in=tired).update(failure_threshold=1)
    expired = expire_claims.expire("s1")
    assert min(expired.reset, expired.errors) > 1


def _explained(name: str) -> dict[str, Any]:
    """Return the plan that is kept of a statement."""
    (count,) = dialect.fetch(
        "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = %s", [name]
    )[0]
    given = f"({', '.join(['NULL'] * count)})" if count else ""
    with transaction.atomic(), connection.cursor() as cursor:
        for setting, to in prepared_plans.SETTINGS.items():
            cursor.execute(f"SET LOCAL {setting} = {to}")
        cursor.execute(f"EXPLAIN (FORMAT JSON) EXECUTE {name}{given}")
        found = cursor.fetchone()[0]
    plan: dict[str, Any] = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    return plan


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


#: Read whole: a row for each agent, and for each hold that an operator has put on.
_SMALL = {"workers_flow", "workers_hold", "workers_worker"}


@pytest.mark.parametrize("is_analyzed", [True, False], ids=["analyzed", "not yet analyzed"])
def test_a_kept_plan_follows_an_index_to_each_row_though_it_was_made_in_empty_tables(
    toy, is_analyzed
):
    toy()
    if is_analyzed:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE workers_process")
            cursor.execute("VACUUM ANALYZE workers_step")
            cursor.execute("VACUUM ANALYZE workers_live")
    _each_verb(toy)

    kept = _kept()
    reads = [
        (node, kept[name])
        for name in kept
        for node in _nodes(_explained(name))
        if node.get("Relation Name") not in {None, *_SMALL} and "Scan" in node["Node Type"]
    ]

    assert len({statement for _, statement in reads}) > 10
    assert any("UPDATE workers_sink" in statement for _, statement in reads)
    wrong = [
        f"{node['Node Type']} of {node['Relation Name']}: {statement}"
        for node, statement in reads
        if node["Node Type"] not in ("Index Scan", "Index Only Scan") or "Index Cond" not in node
    ]
    assert not wrong, "\n".join(wrong)
    # In their turn: by the index, and not by reading all to sort.
    (name,) = (
        name
        for name in kept
        if "ORDER BY l.turn, l.not_before" in kept[name]
        and "LIMIT $" in kept[name]
        and "WITH" not in kept[name]
    )
    assert "Sort" not in {node["Node Type"] for node in _nodes(_explained(name))}
    # A plan that has to do what was switched off costs more than this, and is compiled each time.
    assert max(_explained(name)["Total Cost"] for name in kept) < 100_000


def test_what_settles_and_claims_is_planned_once(toy):
    _each_verb(toy)
    first = _kept()
    _each_verb(toy)

    texts = list(_kept().values())
    assert first.items() <= _kept().items()
    assert len(texts) == len(set(texts))
    for part in ("FROM workers_process t", "UPDATE workers_step", "INSERT INTO workers_journal"):
        assert any(part in text for text in texts)


def test_only_kept_plan_is_bound_to_look_rows_up_one_by_one():
    """A planner that may read tables as it likes would read a small one whole for each row."""
    free = dialect.looked_up("t.id", "v.id")
    with prepared_plans.kept():
        bound = dialect.looked_up("t.id", "v.id")

    assert (free, bound) == ("t.id = v.id", "t.id = ANY(ARRAY[v.id])")


def test_what_others_ask_is_planned_as_ever(toy):
    _each_verb(toy)
    before = _kept()

    list(Step.objects.filter(state="pending"))
    dialect.fetch("SELECT count(*) FROM workers_step WHERE agent = %s", ["toy.alpha"])

    assert _kept() == before
    assert dialect.fetch("SHOW enable_seqscan") == [("on",)]


def test_kept_plans_change_nothing_inside_an_outer_transaction(toy):
    toy()
    reply = a_result(started())
    connection.close()

    with transaction.atomic():
        with prepared_plans.kept():
            # The transaction's first, and without a savepoint before it.
            dialect.fetch("SELECT 1")
        assert settle_replies.apply([reply], "s1").applied == 1
        assert dialect.fetch("SHOW enable_seqscan") == [("on",)]

    assert _kept() == {}


def test_the_planner_is_told_for_a_transaction_and_no_longer():
    def look() -> tuple[str, ...]:
        asked = ", ".join(f"current_setting('{name}')" for name in prepared_plans.SETTINGS)
        return dialect.fetch(f"SELECT {asked}")[0]

    usual = look()
    with prepared_plans.kept(), transaction.atomic():
        within = [look(), look()]
    with prepared_plans.kept():
        alone = look()

    assert within == [tuple(prepared_plans.SETTINGS.values())] * 2
    assert alone == within[0]
    assert look() == usual


def test_no_plan_is_kept_if_kept_plans_are_switched_off(toy, settings):
    settings.SAS_KEPT_PLANS = 0

    _each_verb(toy)

    assert _kept() == {}


def test_statements_can_still_be_written_down(toy):
    toy()
    reply = a_result(started())
    before = _kept()

    with CaptureQueriesContext(connection) as captured:
        assert settle_replies.apply([reply], "s1").applied == 1

    assert any("UPDATE workers_step" in query["sql"] for query in captured.captured_queries)
    assert _kept() == before


def test_the_same_way_is_gone_where_django_writes_statements_down(settings):
    settings.DEBUG = True
    connection.force_debug_cursor = False
    assert connection.queries_logged

    with prepared_plans.kept():
        assert prepared_plans.is_kept()


def test_no_more_are_kept_than_the_setting_says(toy, settings):
    settings.SAS_KEPT_PLANS = 3

    _each_verb(toy)

    # What was one too many is dropped with the next statement.
    dialect.fetch("SELECT 1")
    assert len(_kept()) == 3


def test_a_submission_s_statements_are_prepared_in_the_submitter_s_transaction(toy):
    with transaction.atomic():
        toy()
        assert dialect.fetch("SHOW enable_seqscan") == [("on",)]

    tables = sorted(text.split()[2] for text in _kept().values())
    assert tables == ["workers_journal", "workers_process", "workers_spec", "workers_step"]


def test_a_statement_that_was_not_reached_is_prepared_the_next_time():
    asked = "SELECT id FROM workers_process WHERE id = %s::bigint"

    def broken() -> None:
        with prepared_plans.kept(), dialect.pipelined():
            dialect.send("SELECT 1 / (%s::int)", [0])
            # The server does not look at it any more.
            dialect.send(asked, [0])

    with pytest.raises(DataError, match="division by zero"):
        broken()
    before = _kept()
    with prepared_plans.kept():
        found = dialect.fetch(asked, [0])

    assert found == []
    assert [set(_kept().values()) - set(before.values())] == [{asked.replace("%s", "$1")}]


def test_a_plan_that_is_good_no_more_fails_no_step(toy):
    """A migration changed what a kept statement returns: the batch is delivered again."""
    toy()
    scheduler.settle([a_result(started())])
    toy()
    first = started()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workers_process ALTER subject TYPE varchar(2000)")
    try:
        kept = _kept()
        with pytest.raises(OperationalError, match="good no more"):
            scheduler.settle([a_result(first)])
        untouched = Step.objects.get(pk=first.step_id)
        settled = scheduler.settle([a_result(first)])
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE workers_process ALTER subject TYPE varchar(200)")

    assert any("workers_process" in text for text in kept.values())
    assert (untouched.state, untouched.failure_count) == ("processing", 0)
    assert settled.applied == 1
    assert Step.objects.get(pk=first.step_id).state == "processed"


def test_plan_lost_behind_pooler_raises_error_that_names_setting():
    with prepared_plans.prepared():
        dialect.fetch("SELECT %s::int + 1", [1])
    with connection.cursor() as cursor:
        # As a pooler does: the library hears nothing of it.
        cursor.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")

    with pytest.raises(OperationalError, match="set SAS_KEPT_PLANS=0"), prepared_plans.prepared():
        dialect.fetch("SELECT %s::int + 1", [1])

    assert connection.connection is None


def test_stale_plan_leaves_connection_of_outer_transaction_open():
    def refused() -> None:
        with prepared_plans.prepared():
            cause = psycopg.errors.ProtocolViolation('prepared statement "a" requires 0')
            raise OperationalError(str(cause)) from cause

    with transaction.atomic():
        with pytest.raises(OperationalError, match="set SAS_KEPT_PLANS=0"):
            refused()
        assert connection.connection is not None


def test_a_connection_that_died_is_replaced_before_anything_is_asked(toy):
    toy()
    died = connection.connection
    (pid,) = dialect.fetch("SELECT pg_backend_pid()")[0]
    with psycopg.connect(died.info.dsn) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
    connection.health_check_done = False

    (claim,) = claim_steps.claim_due({"toy.alpha"}, anywhere())

    assert connection.connection is not died
    assert Step.objects.get(pk=claim.step_id).claim_id == claim.claim_id


def test_without_the_planner_s_settings_nothing_is_prepared():
    with prepared_plans.kept(), transaction.atomic():
        assert not Process.objects.exists()
        dialect.fetch("SELECT id FROM workers_process WHERE id = %s::bigint", [0])

    assert _kept() == {}


def test_the_connection_s_own_threshold_stays(toy):
    connection.ensure_connection()
    connection.connection.prepare_threshold = 7

    _each_verb(toy)

    assert connection.connection.prepare_threshold == 7


@pytest.fixture
def nobody_looks_on() -> Iterator[None]:
    """Take away what looks at each statement of a test, as nobody does in production."""
    wrappers = connection.execute_wrappers
    usual = list(wrappers)
    wrappers.clear()
    yield
    wrappers.extend(usual)


def test_kept_statements_run_on_the_library_s_own_cursor(toy, nobody_looks_on):
    _each_verb(toy)
    kept = len(_kept())
    with prepared_plans.kept(), transaction.atomic():
        dialect.fetch("SELECT 1")
        own = prepared_plans.cursor()

    assert isinstance(own, psycopg.Cursor)
    assert not isinstance(prepared_plans.cursor(), psycopg.Cursor)
    assert kept > 10


def test_who_looks_on_sees_each_statement(toy):
    toy()
    reply = a_result(started())
    connection.close()
    seen: list[str] = []

    def note(execute: Any, text: Any, *rest: Any) -> Any:
        seen.append(str(text))
        return execute(text, *rest)

    with connection.execute_wrapper(note):
        assert settle_replies.apply([reply], "s1").applied == 1

    assert len(_kept()) > 5
    # In the words of who sent them: the server numbers the parameters.
    assert all(any(text[:30] in one for one in seen) for text in _kept().values())


@pytest.mark.parametrize("ask", [dialect.fetch, dialect.execute])
def test_what_goes_wrong_is_raised_as_django_s(ask, nobody_looks_on):
    with prepared_plans.kept(), transaction.atomic():
        assert dialect.fetch("SELECT 1") == [(1,)]
        with pytest.raises(ProgrammingError, match="no_such"), transaction.atomic():
            ask("SELECT 1 FROM no_such_table", [])
        # By which a kept connection is looked at before the next task.
        assert connection.errors_occurred
        assert dialect.fetch("SELECT 2") == [(2,)]


def test_nothing_is_asked_in_a_transaction_that_must_be_rolled_back(nobody_looks_on):
    with prepared_plans.kept(), transaction.atomic():
        dialect.fetch("SELECT 1")
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            dialect.fetch("SELECT 1")
