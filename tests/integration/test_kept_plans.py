"""Plans that a connection keeps: which statements have one, and that it serves large tables."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tests.concurrency.test_races import on_postgres
from tests.integration.test_store_settling import Toy, a_result, started
from workers.models import Process, Step
from workers.store import claims, plans, requests, settling, sql

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


@pytest.fixture(autouse=True)
def a_new_connection() -> Iterator[None]:
    connection.close()
    yield
    connection.close()


def _kept() -> dict[str, str]:
    """Return the statements whose plans the connection keeps, by their names."""
    return dict(sql.fetch("SELECT name, statement FROM pg_prepared_statements"))


def _each_verb(toy: Toy) -> None:
    """Run every verb whose plans are kept, in tables that are all but empty."""
    toy()
    settling.settle([a_result(started())], "s1")
    settling.advance([Process.objects.latest("pk").pk], "s1")
    requests.material(claims.claim_due({"toy.alpha", "toy.beta"}, "s1"))


def _explained(name: str) -> dict[str, Any]:
    """Return the plan that is kept of a statement."""
    (count,) = sql.fetch(
        "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = %s", [name]
    )[0]
    given = f"({', '.join(['NULL'] * count)})" if count else ""
    with connection.cursor() as cursor:
        cursor.execute("SET plan_cache_mode = force_generic_plan")
        cursor.execute(f"EXPLAIN (FORMAT JSON) EXECUTE {name}{given}")
        found = cursor.fetchone()[0]
        cursor.execute("RESET plan_cache_mode")
    plan: dict[str, Any] = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    return plan


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


#: Read whole: a row for each agent, and for each hold that an operator has put on.
_SMALL = {"workers_flow", "workers_hold"}


@on_postgres
@pytest.mark.parametrize("is_analyzed", [True, False], ids=["analyzed", "not yet analyzed"])
def test_a_kept_plan_follows_an_index_to_each_row_though_it_was_made_in_empty_tables(
    toy: Toy, is_analyzed: bool
) -> None:
    toy()
    if is_analyzed:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE workers_process")
            cursor.execute("VACUUM ANALYZE workers_step")
    _each_verb(toy)

    kept = _kept()
    reads = [
        (node, kept[name])
        for name in kept
        for node in _nodes(_explained(name))
        if node.get("Relation Name") not in {None, *_SMALL} and "Scan" in node["Node Type"]
    ]

    assert len({statement for _, statement in reads}) > 10
    wrong = [
        f"{node['Node Type']} of {node['Relation Name']}: {statement}"
        for node, statement in reads
        if node["Node Type"] not in ("Index Scan", "Index Only Scan") or "Index Cond" not in node
    ]
    assert not wrong, "\n".join(wrong)
    # A plan that has to do what was switched off costs more than this, and is compiled each time.
    assert max(_explained(name)["Total Cost"] for name in kept) < 100_000


@on_postgres
def test_what_settles_and_claims_is_planned_once(toy: Toy) -> None:
    _each_verb(toy)
    first = _kept()
    _each_verb(toy)

    texts = list(_kept().values())
    assert first.items() <= _kept().items()
    assert len(texts) == len(set(texts))
    for part in ("FROM workers_process t", "UPDATE workers_step", "INSERT INTO workers_journal"):
        assert any(part in text for text in texts)


@on_postgres
def test_what_others_ask_is_planned_as_ever(toy: Toy) -> None:
    _each_verb(toy)
    before = _kept()

    list(Step.objects.filter(state="pending"))
    sql.fetch("SELECT count(*) FROM workers_step WHERE agent = %s", ["toy.alpha"])

    assert _kept() == before
    assert sql.fetch("SHOW enable_seqscan") == [("on",)]


@on_postgres
def test_within_a_transaction_of_somebody_else_nothing_is_changed(toy: Toy) -> None:
    toy()
    reply = a_result(started())
    connection.close()

    with transaction.atomic():
        assert settling.settle([reply], "s1").applied == 1
        assert sql.fetch("SHOW enable_seqscan") == [("on",)]

    assert _kept() == {}


@on_postgres
def test_the_planner_is_told_for_a_transaction_and_no_longer() -> None:
    def look() -> tuple[str, ...]:
        asked = ", ".join(f"current_setting('{name}')" for name in plans.SETTINGS)
        return sql.fetch(f"SELECT {asked}")[0]

    usual = look()
    with plans.kept(), transaction.atomic():
        within = [look(), look()]
    with plans.kept():
        alone = look()

    assert within == [tuple(plans.SETTINGS.values())] * 2
    assert alone == within[0]
    assert look() == usual


@on_postgres
def test_none_is_kept_where_a_pooler_does_not_know_of_them(toy: Toy, settings: Any) -> None:
    settings.SAS_KEPT_PLANS = 0

    _each_verb(toy)

    assert _kept() == {}


@on_postgres
def test_statements_can_still_be_written_down(toy: Toy) -> None:
    toy()
    reply = a_result(started())
    before = _kept()

    with CaptureQueriesContext(connection) as captured:
        assert settling.settle([reply], "s1").applied == 1

    assert any("UPDATE workers_step" in query["sql"] for query in captured.captured_queries)
    assert _kept() == before


@on_postgres
def test_no_more_are_kept_than_the_setting_says(toy: Toy, settings: Any) -> None:
    settings.SAS_KEPT_PLANS = 3

    _each_verb(toy)

    assert len(_kept()) == 3


@on_postgres
def test_a_submission_s_statements_are_prepared_in_the_submitter_s_transaction(toy: Toy) -> None:
    with transaction.atomic():
        toy()
        assert sql.fetch("SHOW enable_seqscan") == [("on",)]

    tables = sorted(text.split()[2] for text in _kept().values())
    assert tables == ["workers_journal", "workers_process", "workers_step"]


@on_postgres
def test_a_statement_that_failed_the_first_time_is_prepared_the_next(toy: Toy) -> None:
    toy()
    reply = a_result(started())

    def broken() -> None:
        with plans.kept(), transaction.atomic(), sql.pipelined():
            sql.send("SELECT 1 / (%s::int)", [0])
            # Not reached by the server: the pipeline is aborted before it.
            sql.send("SELECT id FROM workers_process WHERE id = %s::bigint", [1])

    for _ in range(2):
        with pytest.raises(Exception, match="division by zero"):
            broken()
    with plans.kept(), transaction.atomic():
        found = sql.fetch("SELECT id FROM workers_process WHERE id = %s::bigint", [0])

    assert found == []
    assert settling.settle([reply], "s1").applied == 1
