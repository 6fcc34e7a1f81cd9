"""Many processes at once: the same rows as one by one, in a handful of statements."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from workers.client.submission import submit, submit_many
from workers.definitions import completing, registry
from workers.definitions.effects import Effect
from workers.definitions.workflow import Workflow
from workers.exceptions import UnknownAgent
from workers.models import Journal, Process, Sink, Step
from workers.rules.rows import NewProcess, NewSink

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
#: What no two processes share.
OWN = {"id", "uid", "process_id", "step_id", "subject", "idempotency_key", "turn"}


def rows(subject: str) -> list[list[dict[str, Any]]]:
    process = Process.objects.get(subject=subject)
    found = [
        Process.objects.filter(pk=process.pk),
        Step.objects.filter(process=process).order_by("position"),
        Journal.objects.filter(process=process).order_by("id"),
        Sink.objects.filter(process=process),
    ]
    return [
        [{k: v for k, v in row.items() if k not in OWN} for row in query.values()]
        for query in found
    ]


@pytest.mark.parametrize("late", [timedelta(days=1), timedelta(0)])
def test_a_deadline_that_has_passed_is_refused_at_both_doors(late):
    passed = NOW - late
    says = re.escape(f"deadline_at of 'Toy 1' must lie ahead, got {passed.isoformat()}")
    good = NewProcess("Toy 0", {}, deadline_at=NOW + timedelta(seconds=1))
    with transaction.atomic():
        with pytest.raises(ValueError, match=says):
            submit("toy_line", subject="Toy 1", input={}, deadline_at=passed, now=NOW)
        with pytest.raises(ValueError, match=says):
            submit_many("toy_line", [good, NewProcess("Toy 1", {}, deadline_at=passed)], now=NOW)
        # What the caller does beside goes on: nothing was written that has to be taken back.
        submit_many("toy_line", [good], now=NOW)
    assert list(Process.objects.values_list("subject", flat=True)) == ["Toy 0"]


def test_each_has_the_rows_that_it_has_alone():
    sink = NewSink("queue", "replies.acme.1", "acme")
    deadline = NOW + timedelta(hours=2)
    given: dict[str, Any] = {"lane": "acme", "priority": 1, "deadline_at": deadline}
    submit("toy_line", subject="Alone", input={"a": [1, None, "ü"]}, sinks=[sink], now=NOW, **given)

    made = submit_many(
        "toy_line",
        [NewProcess(f"Toy {n}", {"a": [1, None, "ü"]}, told=[sink], **given) for n in range(3)],
        now=NOW,
    )

    assert [process.subject for process in made] == ["Toy 0", "Toy 1", "Toy 2"]
    assert [rows(process.subject) for process in made] == [rows("Alone")] * 3
    assert [process.pk for process in made] == sorted(process.pk for process in made)
    stored = Process.objects.get(pk=made[1].pk)
    assert (stored.uid, stored.turn, stored.input) == (made[1].uid, made[1].turn, made[1].input)
    keys = list(Step.objects.filter(process=stored).values_list("idempotency_key", flat=True))
    assert keys == [f"{stored.uid.hex}:{place}:1" for place in range(len(keys))]


def test_keys_are_in_the_order_in_which_their_processes_were_submitted():
    first = [submit("toy_line", subject=f"Toy {n}", input={}) for n in range(3)]
    last = submit_many("toy_line", [NewProcess(f"Toy {n}", {}) for n in range(30)])

    uids = [process.uid for process in [*first, *last]]
    assert uids == sorted(uids)
    assert {uid.version for uid in uids} == {7}
    assert len(set(uids)) == 33


def test_processes_of_one_lane_get_successive_turns(settings):
    settings.SAS_FAIR_SECONDS = 1
    submit("toy_line", subject="First", input={}, lane="acme", now=NOW)

    made = submit_many(
        "toy_line",
        [NewProcess(f"Toy {n}", {}, lane) for n, lane in enumerate(["acme", "acme", "", "other"])],
        now=NOW,
    )

    places = [(process.turn - NOW).total_seconds() for process in made]
    assert places == [1.0, 2.0, 0.0, 0.0]


def test_however_many_they_are_the_statements_are_the_same():
    counts = []
    for many in (1, 50):
        with CaptureQueriesContext(connection) as queries:
            submit_many("toy_line", [NewProcess(f"Toy {n}", {}) for n in range(many)], now=NOW)
        counts.append(len(queries))

    assert counts[0] == counts[1]
    assert Process.objects.count() == 51


def test_one_that_is_wrong_leaves_none():
    for wrong, error in (
        (NewProcess("Toy", {}, priority=-1), ValueError),
        (NewProcess("Toy", {"at": NOW}), TypeError),
        (NewProcess("Toy", {"n": float("nan")}), ValueError),
    ):
        with pytest.raises(error):
            submit_many("toy_line", [NewProcess("Good", {}), wrong], now=NOW)

    assert (Process.objects.count(), Step.objects.count(), Journal.objects.count()) == (0, 0, 0)


def test_what_fails_after_the_first_rows_leaves_none(monkeypatch):
    def fail(*args: Any) -> None:
        assert Step.objects.exists()
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("workers.store.journal.write", fail)
    with pytest.raises(RuntimeError, match="the disk is full"), transaction.atomic():
        submit_many("toy_line", [NewProcess("Toy", {})], now=NOW)

    assert (Process.objects.count(), Step.objects.count()) == (0, 0)


def test_what_fails_takes_the_callers_transaction_with_it(monkeypatch):
    def fail(*args: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("workers.store.journal.write", fail)
    with transaction.atomic():
        with pytest.raises(RuntimeError, match="the disk is full"):
            submit_many("toy_line", [NewProcess("Mine", {})], now=NOW)
        with pytest.raises(TransactionManagementError):
            Process.objects.exists()

    assert Process.objects.count() == 0


def test_an_unknown_agent_leaves_the_callers_transaction_as_it_was(monkeypatch):
    with transaction.atomic():
        submit_many("toy_line", [NewProcess("Mine", {})], now=NOW)
        monkeypatch.setattr("workers.definitions.registry._agents", {})
        with pytest.raises(UnknownAgent):
            submit_many("toy_line", [NewProcess("Mine", {})], now=NOW)

    assert Process.objects.count() == 1


def test_what_is_refused_leaves_the_callers_transaction_as_it_was():
    with transaction.atomic():
        submit_many("toy_line", [NewProcess("Mine", {})], now=NOW)
        with pytest.raises(ValueError, match="n is nan"):
            submit_many("toy_line", [NewProcess("Mine", {"n": float("nan")})], now=NOW)

    assert Process.objects.count() == 1


def test_submit_many_of_empty_list_returns_empty_list():
    assert submit_many("toy_line", []) == []


def test_a_definition_is_completed_once_and_anew_where_an_agent_or_a_setting_is_another(
    monkeypatch, settings
):
    checked: list[str] = []
    real = Workflow._check_values
    monkeypatch.setattr(
        Workflow, "_check_values", lambda self: (checked.append(self.name), real(self))[1]
    )

    def steps() -> list[tuple[str, int, str]]:
        (made,) = submit_many("toy_line", [NewProcess("Mine", {})], now=NOW)
        found = made.steps.order_by("position")
        return [(step.agent, step.failure_threshold, step.spec.effect) for step in found]

    completing._complete.cache_clear()
    before = steps()
    assert steps() == before
    assert checked == ["toy_line"]

    settings.SAS_FAILURE_THRESHOLD = 7
    assert {threshold for _, threshold, _ in steps()} == {7}

    class Other(type(registry.agent(before[0][0]))):  # type: ignore[misc]
        effect = Effect.UNSAFE

    monkeypatch.setitem(registry._agents, before[0][0], Other())
    assert steps()[0] == (before[0][0], 1, "unsafe")
    assert checked == ["toy_line"] * 3
