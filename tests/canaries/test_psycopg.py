"""psycopg 3.3: BEGIN in a pipeline, what is prepared, and how long an answer is waited for."""

import inspect
from collections.abc import Iterator

import pytest
from django.conf import settings

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgresql


@pytest.fixture
def own() -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    """Yield a connection of psycopg's own, beside Django's."""
    with psycopg.connect(**_parameters()) as ours:
        yield ours


def _parameters() -> dict[str, object]:
    named = settings.DATABASES["default"]
    pairs = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
    return {"dbname": "postgres", **{ours: named[its] for ours, its in pairs.items() if named[its]}}


def _waits(own: "psycopg.Connection[tuple[object, ...]]", monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often a pipeline was waited for by the time its first statement had left."""
    from psycopg._pipeline import BasePipeline

    waits: list[object] = []
    waited_for = BasePipeline._sync_gen
    monkeypatch.setattr(
        BasePipeline, "_sync_gen", lambda self: waits.append(self) or waited_for(self)
    )
    with own.pipeline():
        own.execute("SELECT 1")
        return len(waits)


def test_it_waits_for_the_begin_of_its_own(own, monkeypatch):
    """Red when it does not: then ``prepared_plans.takes_over_begin`` may go."""
    assert _waits(own, monkeypatch) == 1


def test_psycopg_pipeline_does_not_wait_for_begin_under_autocommit(own, monkeypatch):
    """``takes_over_begin`` switches ``autocommit`` on and sends BEGIN as a statement."""
    own.autocommit = True

    assert _waits(own, monkeypatch) == 0


def test_what_is_prepared_is_said_by_the_connection_alone(own):
    """Red when a cursor can say it: then ``prepared_plans._preparing`` may go."""
    assert not hasattr(own.cursor(), "prepare_threshold")
    own.prepare_threshold = 0
    own.prepared_max = 10

    own.execute("SELECT 1 + %s", [1])

    prepared = own.execute("SELECT count(*) FROM pg_prepared_statements", prepare=False).fetchone()
    assert prepared == (1,)


def test_a_wait_that_ends_is_psycopg_s_own(own):
    """Red when a connection can be told so: then ``sasproject.postgresql.base._wait`` may go."""
    assert not [name for name in dir(own) if "timeout" in name]
    assert "timeout" not in inspect.signature(own.execute).parameters
    cursor = own.cursor()

    with pytest.raises(psycopg.errors._WaitTimeout):
        own.wait(cursor._execute_gen("SELECT pg_sleep(5)"), timeout=0.01)
    own.close()
