"""The crash tester: what does not heal is caught, and told so that it can be found."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.toyflow import agents as toy
from workers.client.submission import submit
from workers.models import Journal, Process, Step
from workers.rules.rows import NewSink
from workers.runtime.failpoints import around
from workers.testing import (
    Aftermath,
    Crash,
    Ledger,
    Told,
    Wire,
    assert_processed,
    crash_everywhere,
    rehearse,
)
from workers.testing.clock import Clock
from workers.testing.subprocess_fork import in_a_fork

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    ledger = Ledger(tmp_path / "ledger")
    for name in ("toy.alpha", "toy.beta"):
        toy.script[name] = lambda call: ledger.act(call.key, call.step)
    return ledger


def begin() -> None:
    if not Process.objects.exists():
        submit("toy_line", subject="Toy 1", input={"id": 1})


def once(ledger: Ledger) -> Callable[[Aftermath], None]:
    def check(after: Aftermath) -> None:
        assert_processed(Process.objects.get())
        assert ledger.count() == {"one": 1, "two": 1}
        after.assert_same_journal()

    return check


def test_a_workflow_that_heals_is_killed_everywhere_and_heals(ledger):
    points = ["runner.run", "settle_replies.apply"]
    told: list[tuple[int, int]] = []

    survey = crash_everywhere(
        begin,
        once(ledger),
        prepare=ledger.clear,
        points=points,
        most_hits=2,
        progress=lambda done, total: told.append((done, total)),
    )

    # Two steps, each called and settled once; every stop of both points, both fates.
    stops = ["runner.run:before", "runner.run:after"]
    stops += [f"settle_replies.apply:{stop}" for stop in ("before", "written", "after")]
    wanted = [Crash(stop, hit, fate) for stop in stops for hit in (1, 2) for fate in (False, True)]
    assert sorted(survey.crashes, key=str) == sorted(wanted, key=str)
    assert survey.points == set(stops)
    assert told == [(n, 20) for n in range(1, 21)]


def test_crash_tester_alternates_fates_if_one_fate_suffices(ledger):
    survey = crash_everywhere(
        begin,
        once(ledger),
        prepare=ledger.clear,
        points=["settle_replies.apply"],
        most_hits=1,
        both_fates=False,
    )

    assert [crash.redelivers for crash in survey.crashes] == [False, True, False]


def test_an_agent_that_ignores_its_key_is_caught(ledger):
    toy.script["toy.beta"] = lambda call: ledger.act(uuid4().hex, call.step)

    with pytest.raises(AssertionError, match=r"killed at runner\.run:after") as caught:
        crash_everywhere(begin, once(ledger), prepare=ledger.clear, points=["runner.run"])

    # Killed before the second call it is called once; the first step honours its key.
    assert "2 of 8 crashes did not heal" in str(caught.value)
    assert "'two': 2" in str(caught.value)


def test_a_verb_that_is_not_whole_is_caught(monkeypatch):
    """A verb that commits its change and its journal row apart is half done in between."""

    def prepare() -> None:
        submit("toy_line", subject="Toy 1", input={})

    def pause_in_two(process: Process) -> None:
        with around("half"):
            Process.objects.filter(pk=process.pk).update(paused_at=process.created_at)
        Journal.objects.create(
            process=process, event="paused", at=process.created_at, actor="operator:ann"
        )

    def act() -> None:
        process = Process.objects.get()
        if process.paused_at is None:
            pause_in_two(process)

    def check(after: Aftermath) -> None:
        after.assert_same_journal(may_add=())

    with pytest.raises(AssertionError, match=r"0 instead of 1: \w+ 1  paused"):
        crash_everywhere(act, check, prepare=prepare, run=lambda wire, clock: None)


def test_a_scenario_that_fails_without_a_crash_is_told_as_such(ledger):
    def fail(after: Aftermath) -> None:
        assert after.crash is None
        raise AssertionError("the sum is wrong")

    with pytest.raises(AssertionError, match="not even run without a crash") as caught:
        crash_everywhere(begin, fail, prepare=ledger.clear)

    assert "the sum is wrong" in str(caught.value)


def test_a_point_that_is_not_reached_again_is_told(ledger):
    def begin_otherwise() -> None:
        begin()
        if ledger.find("rehearsed") is None:
            ledger.act("rehearsed", "rehearsed")
            with around("only_at_first"):
                pass

    with pytest.raises(AssertionError, match="the point was not reached: it ran to its end"):
        crash_everywhere(begin_otherwise, lambda after: None, points=["only_at_first"])


def test_a_process_that_ends_otherwise_has_not_crashed_as_planned(ledger):
    def fall(wire: Wire, clock: Clock) -> None:
        if ledger.find("rehearsed") is not None:
            raise ZeroDivisionError
        ledger.act("rehearsed", "rehearsed")
        with around("end"):
            pass

    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        crash_everywhere(begin, lambda after: None, run=fall, points=["end"])


def test_failures_are_counted_and_the_first_are_told_in_full(ledger):
    def fail(after: Aftermath) -> None:
        assert after.crash is None, "a crash leaves traces"

    with pytest.raises(AssertionError) as caught:
        crash_everywhere(begin, fail, prepare=ledger.clear, points=["runner.run"])

    text = str(caught.value)
    assert text.startswith("8 of 8 crashes did not heal.")
    assert text.count("killed at") == 5
    assert text.endswith("... and 3 more")


def test_replies_die_with_their_process(ledger):
    """That costs an attempt each, whether messages come again or are lost."""

    def check(after: Aftermath) -> None:
        once(ledger)(after)
        if after.crash is not None and after.crash.point == "settle_replies.apply:before":
            assert Journal.objects.filter(event="expired").count() == 1

    crash_everywhere(begin, check, prepare=ledger.clear, points=["settle_replies.apply"])


def test_messages_come_again_or_are_lost():
    came: list[int] = []

    def count(wire: Wire, clock: Clock) -> None:
        came.append(len(wire.of("workers.toy")))
        wire.take("workers.toy", [], "a queue")
        with around("message"):
            pass

    crash_everywhere(lambda: None, lambda after: None, run=count)

    # Lost after one crash and back after the next, for each of the two points.
    assert came == [0, 1, 0, 1]


def test_what_was_told_before_the_crash_is_told(ledger):
    def begin_told() -> None:
        if not Process.objects.exists():
            sinks = (NewSink("queue", "replies.acme.one"), NewSink("queue", "replies.acme.two"))
            submit("toy_told", subject="Toy 1", input={"id": 1}, sinks=sinks)

    def check(after: Aftermath) -> None:
        after.assert_told_everything()
        if after.crash is not None:
            lines = [one.body["sequence"] for one in after.told if one.address.endswith("one")]
            assert len(lines) >= len(set(lines))

    crash_everywhere(
        begin_told, check, prepare=ledger.clear, points=["relay.send", "sinks.told"], most_hits=2
    )


@pytest.mark.parametrize(
    "numbers", [[1, 2, 4, 3], [1, 2, 3], [2, 3, 4], []], ids=["order", "end", "begin", "nothing"]
)
def test_what_is_not_told_in_full_and_in_order_is_caught(ledger, numbers):
    def aftermath(numbers: list[int]) -> Aftermath:
        told = [Told("replies.acme.one", {"toy_id": 1, "sequence": n}) for n in numbers]
        return Aftermath(None, Wire(), told, None)

    sinks = (NewSink("queue", "replies.acme.one"),)
    process = submit("toy_told", subject="Toy 1", input={"id": 1}, sinks=sinks)
    process.sinks.update(last=4)

    aftermath([1, 2, 2, 3, 2, 3, 4]).assert_told_everything()
    with pytest.raises(AssertionError, match="The sinks were sent"):
        aftermath(numbers).assert_told_everything()


@pytest.mark.parametrize(
    ("event", "is_right"),
    [("claimed", True), ("processed", False), ("paused", False)],
    ids=["one more attempt", "twice", "out of nothing"],
)
def test_the_journal_may_show_one_attempt_more_and_nothing_else(wire, event, is_right):
    from workers.testing.result import story

    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    after = Aftermath(Crash("a:before", 1, True), wire, [], story())
    step = Step.objects.get(name="one")
    Journal.objects.create(
        process=process, step=step, event=event, at=process.created_at, actor="a", attempt=9
    )

    if is_right:
        after.assert_same_journal()
        after.assert_same_journal(may_add=("claimed",))
        return
    with pytest.raises(AssertionError, match=f"of .: toy_line 1 one {event}"):
        after.assert_same_journal()


def test_steps_that_are_left_out_are_not_compared(wire):
    from workers.testing.result import story

    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    after = Aftermath(Crash("a:before", 1, True), wire, [], story())
    for step in Step.objects.all():
        Journal.objects.create(
            process=process, step=step, event="failed", at=process.created_at, actor="a", attempt=9
        )

    after.assert_same_journal(but_for={"one", "two"})
    with pytest.raises(AssertionError, match=r"^The journal differs:\n[^\n]+two failed$"):
        after.assert_same_journal(but_for={"one"})


def test_a_test_in_a_transaction_is_refused(ledger):
    from django.db import transaction

    with transaction.atomic(), pytest.raises(RuntimeError, match="transactional_db"):
        rehearse(begin, lambda after: None)
    assert not Process.objects.exists()


@pytest.mark.sqlite
def test_a_database_in_memory_is_refused(monkeypatch):
    from django.db import connection

    monkeypatch.setitem(connection.settings_dict, "NAME", "file:x?mode=memory&cache=shared")
    with pytest.raises(RuntimeError, match="Give it a file"):
        rehearse(begin, lambda after: None)


def test_a_fork_that_hangs_is_ended(monkeypatch):
    from workers.testing import subprocess_fork

    monkeypatch.setattr(subprocess_fork, "LONGEST_SECONDS", 1)
    ended = in_a_fork(lambda say: signal.pause())
    assert ended.error == "it did not end within 1 s"


def test_what_a_fork_says_last_counts():
    def act(say: Callable[[dict[str, Any]], None]) -> None:
        say({"n": 1})
        say({"n": "x" * 200_000})
        os.kill(os.getpid(), signal.SIGKILL)

    ended = in_a_fork(act)
    assert (ended.is_killed, len(ended.message["n"])) == (True, 200_000)


def test_the_database_is_empty_again_and_ids_begin_at_1(ledger):
    from django.contrib.auth.models import Permission

    from workers.testing import flush

    permissions = Permission.objects.count()
    for _ in range(2):
        flush()
        assert not Process.objects.exists()
        assert submit("toy_line", subject="Toy 1", input={}).pk == 1
    assert Permission.objects.count() == permissions


def test_one_effect_a_key_however_many_processes_ask(tmp_path):
    path = tmp_path / "ledger"
    ledger = Ledger(path)

    def ask(asker: int) -> None:
        for n in range(50):
            Ledger(path).act(f"key-{n}", "charge", by=asker)

    fork = multiprocessing.get_context("fork")
    askers = [fork.Process(target=ask, args=(n,)) for n in range(3)]
    for one in askers:
        one.start()
    for one in askers:
        one.join()

    assert [one.exitcode for one in askers] == [0, 0, 0]
    assert ledger.count() == {"charge": 50}
    assert sorted(one["key"] for one in ledger.effects()) == sorted(f"key-{n}" for n in range(50))


def test_a_key_has_its_first_answer_for_ever(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    first = ledger.act("k", "charge", amount="1.00")

    assert ledger.act("k", "charge", amount="9.00") == first
    assert ledger.find("k") == first == {"key": "k", "operation": "charge", "amount": "1.00"}
    assert ledger.find("other") is None
    ledger.clear()
    assert (ledger.effects(), ledger.find("k")) == ([], None)


def test_a_subject_with_a_number_of_a_sequence_is_no_other_journal(wire):
    """A crash before the commit burns a number: the second try is "Trip 2"."""
    from workers.testing.result import story

    first = submit("toy_line", subject="Trip 1", input={})
    calm = story()
    assert calm
    Process.objects.filter(pk=first.pk).update(subject="Trip 2")

    Aftermath(Crash("a:before", 1, True), wire, [], calm).assert_same_journal()
