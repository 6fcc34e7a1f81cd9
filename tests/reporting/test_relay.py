"""Every submitter is told everything, in order, at least once, and holds nothing up."""

import logging
import threading
from contextlib import nullcontext
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.alerts import text_of
from tests.reporting.conftest import QUEUE, read, relay, sequences, sink_of, told, webhook
from tests.toyflow import agents as toy
from workers import scheduler, tasks
from workers.client.submission import submit
from workers.definitions import registry
from workers.exceptions import Permanent, Transient
from workers.models import Alert, Journal, Process, Sink
from workers.notify import relay as relays
from workers.notify.senders import Letter, NotSent, Undelivered
from workers.operate import invariants
from workers.store import sinks
from workers.store.claims import find_work
from workers.store.operate import commands
from workers.testing import Wire, WorkerDied, frozen_clock
from workers.wire import dispatch

pytestmark = pytest.mark.django_db


def fails_with(problem: BaseException) -> Any:
    def send(letter: Letter) -> None:
        raise problem

    return send


def test_a_submitter_is_told_everything_in_order_without_a_gap(wire: Wire) -> None:
    process = told()

    wire.run_until_idle()

    messages = read(wire.told)
    assert [one["sequence"] for one in messages] == [1, 2, 3, 4, 5]
    assert [(one["event"], one.get("step"), one["state"]) for one in messages] == [
        ("submitted", None, "pending"),
        ("started", None, "processing"),
        ("processed", "one", "processing"),
        ("processed", "two", "processing"),
        ("processed", None, "processed"),
    ]
    sink = sink_of(process)
    assert (sink.state, sink.cursor, sink.last) == ("ended", 5, 5)


def test_each_of_several_sinks_is_told_by_itself(wire: Wire, secrets: Any) -> None:
    told(QUEUE, webhook("https://acme.example/told"))

    wire.run_until_idle()

    for address in (QUEUE.address, "https://acme.example/told"):
        assert [one.sequence for one in wire.told if one.address == address] == [1, 2, 3, 4, 5]
    assert len({letter.id for letter in wire.told}) == 10


def test_every_process_has_its_own_order(wire: Wire) -> None:
    for n in range(7):
        told(subject=f"Toy {n}")

    wire.run_until_idle()

    by_process: dict[str, list[int]] = {}
    for one in read(wire.told):
        by_process.setdefault(one["toy_id"], []).append(one["sequence"])
    assert by_process == {f"Toy {n}": [1, 2, 3, 4, 5] for n in range(7)}


def test_a_relay_that_dies_after_sending_tells_the_same_again_under_the_same_id(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = told()
    sent: list[Letter] = []

    def sends_and_dies(letter: Letter) -> None:
        sent.append(letter)
        raise WorkerDied

    with frozen_clock() as clock:
        with monkeypatch.context() as patch:
            patch.setitem(relays.senders, "queue", sends_and_dies)
            with pytest.raises(WorkerDied):
                relays.report()
        assert (sink_of(process).cursor, [one.sequence for one in sent]) == (0, [1])
        assert relays.report() == 0, "still claimed by the dead one"

        clock.advance(seconds=relays.CLAIM_SECONDS + 1)
        wire.run_until_idle()

    assert sequences(wire) == [1, 2, 3, 4, 5]
    assert wire.told[0].id == sent[0].id


def test_whoever_was_overtaken_stops_and_moves_no_cursor(wire: Wire) -> None:
    process = told()
    slow = sinks.claim("queue", 1, 60)[0]
    Sink.objects.update(cursor=1)

    assert sinks.told([sinks.Told(slow, 1)]) == set()
    assert sinks.give_up(slow, Undelivered("late").record) is False
    sinks.failed(slow, 5, Undelivered("late").record)

    assert (sink_of(process).tries, sink_of(process).state) == (0, "open")


def test_a_relay_that_is_overtaken_sends_nothing_more(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = told()
    scheduler.advance()
    sent = []

    def is_overtaken(letter: Letter) -> None:
        sent.append(letter.sequence)

    monkeypatch.setitem(relays.senders, "queue", is_overtaken)
    real = sinks.told
    monkeypatch.setattr(
        sinks, "told", lambda found: (Sink.objects.update(cursor=2), real(found))[1]
    )

    relay("queue").run()

    assert sent == [1]
    assert sink_of(process).cursor == 2


def test_a_claim_ends_with_what_there_is_to_tell(wire: Wire) -> None:
    process = told()
    wire.deliver_all(dispatch.REPORT)
    relays.report()
    assert sequences(wire) == [1]

    scheduler.advance()
    relays.report()

    assert sequences(wire) == [1, 2]
    assert sink_of(process).state == "open"


def test_nothing_is_begun_under_a_claim_that_is_nearly_over(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = told()
    scheduler.advance()
    monkeypatch.setattr(relays, "MARGIN_SECONDS", relays.CLAIM_SECONDS)
    claims = []
    real = sinks.claim

    def claim(*args: Any, **options: Any) -> Any:
        claims.append(found := real(*args, **options))
        return found

    monkeypatch.setattr(sinks, "claim", claim)
    relay("queue").run()

    assert sequences(wire) == [1, 2]
    assert [len(found) for found in claims if found] == [1, 1], "a claim of its own for each"
    assert sink_of(process).cursor == 2


def test_the_task_wakes_this_process_s_relays(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(tasks.threads, "want", lambda: done.append("woken"))
    take = Mock(side_effect=lambda: done.append("taken along"))
    monkeypatch.setattr(tasks, "waiting", lambda queue, task, limit: nullcontext(take))

    tasks.report()

    assert done == ["taken along", "woken"]


def test_more_rows_than_are_read_at_once_are_told_all_the_same(wire: Wire) -> None:
    process = told()
    last = 130
    Journal.objects.bulk_create(
        Journal(process=process, event="paused", actor="x", at=process.created_at, sequence=n)
        for n in range(2, last + 1)
    )
    Sink.objects.update(last=last)

    relays.report()

    assert sequences(wire) == list(range(1, last + 1))


def test_a_failed_try_is_made_again_after_a_backoff_and_nothing_is_left_out(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = told()
    with frozen_clock() as clock:
        with monkeypatch.context() as patch:
            patch.setitem(relays.senders, "queue", fails_with(Undelivered("no_queue")))
            relays.report()
        sink = sink_of(process)
        assert (sink.tries, sink.problem, sink.cursor) == (1, {"code": "no_queue", "params": {}}, 0)
        assert sink.next_try_at == clock.now + timedelta(seconds=10)

        clock.advance(seconds=9)
        assert relays.report() == 0
        clock.advance(seconds=1)
        assert relays.report() == 1

    assert (sink_of(process).tries, sink_of(process).problem) == (0, None)


def test_a_receiver_s_own_time_counts_where_it_is_longer(
    wire: Wire, secrets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = told(webhook("https://acme.example/told"))
    problem = Undelivered("answered 503", retry_after=900)
    monkeypatch.setitem(relays.senders, "webhook", fails_with(problem))
    with frozen_clock() as clock:
        relays.report()
        assert sink_of(process).next_try_at == clock.now + timedelta(seconds=900)


@pytest.mark.fault("F32")
def test_after_all_tries_it_is_undeliverable_with_one_alert_and_the_order_goes_on(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = [told(subject=f"Toy {n}") for n in range(3)]
    tries = []

    def fails(letter: Letter) -> None:
        tries.append(letter)
        raise Undelivered("no such queue")

    monkeypatch.setitem(relays.senders, "queue", fails)
    with frozen_clock() as clock:
        wire.run_until_idle()
        for _ in range(40):
            clock.advance(seconds=14_400)
            relays.report()

    assert set(Sink.objects.values_list("state", "tries")) == {("undeliverable", 20)}
    assert len(tries) == 3 * 20
    alert = Alert.objects.get()
    assert (alert.code, alert.times) == ("sink_undeliverable", 3)
    assert "client:acme" in text_of(alert)
    assert {Process.objects.get(pk=one.pk).state for one in processes} == {"processed"}


def test_the_tries_take_about_a_day() -> None:
    backoff = relays.Backoff(10, 14_400)
    mean = sum(backoff.ceiling(n) / 2 for n in range(1, 20))
    assert 0.5 < mean / 86_400 < 1.5


def test_one_that_is_gone_is_given_up_at_once(
    wire: Wire, secrets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = told(webhook("https://acme.example/told?key=private"))
    problem = Undelivered("answered 410", is_gone=True)
    monkeypatch.setitem(relays.senders, "webhook", fails_with(problem))

    relays.report()

    assert (sink_of(process).state, sink_of(process).tries) == ("undeliverable", 1)
    assert "private" not in text_of(Alert.objects.get())


@pytest.mark.fault("F11")
def test_a_broker_that_is_away_counts_no_try(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    process = told()
    told(subject="Toy 2")
    tries = []

    def is_away(letter: Letter) -> None:
        tries.append(letter)
        raise NotSent("connection refused")

    with frozen_clock() as clock:
        with monkeypatch.context() as patch:
            patch.setitem(relays.senders, "queue", is_away)
            relays.report()
        assert len(tries) == 1, "the second would have met the same"
        assert (sink_of(process).tries, sink_of(process).state) == (0, "open")
        clock.advance(seconds=relays.NOT_SENT_SECONDS)
        assert relays.report() == 2


def test_an_error_of_ours_is_a_failed_try_and_no_other_sink_s(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = told(subject="Toy 1"), told(subject="Toy 2")
    real = relays.senders["queue"]

    def stumbles(letter: Letter) -> None:
        if b"Toy 1" in letter.body:
            raise KeyError("x")
        real(letter)

    monkeypatch.setitem(relays.senders, "queue", stumbles)
    with caplog.at_level(logging.CRITICAL):
        relays.report()

    assert sink_of(bad).tries == 1
    assert sink_of(bad).problem == {"code": "failed", "params": {"error": "KeyError"}}
    assert sink_of(good).cursor == 1


def test_letters_that_cannot_be_written_hold_up_no_other(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    nameless = submit("toy_told", subject="Toy 1", input={}, sinks=(QUEUE,))
    unknown, good = told(subject="Toy 2"), told(subject="Toy 3")
    Process.objects.filter(pk=unknown.pk).update(version=9)

    with caplog.at_level(logging.CRITICAL):
        relays.report()

    assert sink_of(good).cursor == 1
    for process in (nameless, unknown):
        assert (sink_of(process).cursor, sink_of(process).tries) == (0, 0)


def test_an_address_that_does_not_answer_is_left_alone_for_a_while(
    wire: Wire, secrets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets["client:other"] = secrets["client:acme"]
    for n in range(20):
        told(webhook("https://acme.example/told"), subject=f"Toy {n}")
    other = told(webhook("https://other.example/told", owner="client:other"), subject="Other")
    tries = []

    def hangs(letter: Letter) -> None:
        tries.append(letter.address)
        if "acme" in letter.address:
            raise Undelivered("no answer in time", is_away=True)

    monkeypatch.setitem(relays.senders, "webhook", hangs)
    relay("webhook").run()

    assert tries.count("https://acme.example/told") == 3, "as many as may be under way at once"
    assert sink_of(other).cursor == 1
    assert Sink.objects.filter(tries=0, owner="client:acme").count() == 17


def test_a_dead_address_holds_up_no_other_of_its_owner(
    wire: Wire, secrets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(10):
        told(webhook("https://acme.example/dead"), subject=f"Toy {n}")
    healthy = told(webhook("https://acme.example/well"), subject="Healthy")
    reached = threading.Event()

    def hangs(letter: Letter) -> None:
        if "dead" not in letter.address:
            reached.set()
        # It hangs until the healthy one is told, whose slot it must not take.
        elif not reached.wait(10):
            raise Undelivered("no answer in time", is_away=True)

    monkeypatch.setitem(relays.senders, "webhook", hangs)
    relay("webhook").run()

    assert sink_of(healthy).cursor == 1
    assert not Sink.objects.filter(tries__gt=0).exists(), "nothing had to wait for a time-out"


def test_an_address_of_two_owners_is_left_alone_for_one_of_them_only(
    wire: Wire, secrets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets["client:other"] = secrets["client:acme"]
    for n in range(10):
        told(webhook("https://both.example/told"), subject=f"Toy {n}")
    other = told(webhook("https://both.example/told", owner="client:other"), subject="Other")

    def refuses(letter: Letter) -> None:
        if letter.secrets and b"Other" not in letter.body:
            raise Undelivered("answered 503", is_away=True)

    monkeypatch.setitem(relays.senders, "webhook", refuses)
    relay("webhook").run()

    assert sink_of(other).cursor == 1


def test_rests_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(relays, "monotonic", lambda: now[0])
    one = relay("webhook")
    for n in range(100):
        one._rest(("client:acme", f"https://acme.example/{n}"))
    assert len(one._resting()) == 100

    now[0] = relays.REST_SECONDS[0] + relays.REMEMBERED_SECONDS + 1
    assert one._resting() == set()
    assert not one._rests


def test_a_refusal_and_its_end_are_told_with_codes_only(wire: Wire) -> None:
    process = told()
    toy.script["toy.beta"] = lambda call: (_ for _ in ()).throw(
        Permanent("card_lost", "Ada's card 4711 is lost")
    )

    wire.run_until_idle()
    commands.undo(process.pk, outcome="cancelled", actor="operator:mallory", reason="fraud")
    scheduler.advance()
    wire.run_until_idle()

    messages = read(wire.told)
    assert [one["sequence"] for one in messages] == list(range(1, len(messages) + 1))
    refused = next(one for one in messages if one["event"] == "refused")
    assert refused["detail"] == {"kind": "permanent", "code": "card_lost"}
    stopped = next(one for one in messages if one["event"] == "error")
    assert (stopped["state"], stopped["detail"]) == ("error", {"step": "two"})
    assert messages[-1]["state"] == "cancelled"
    text = repr([letter.body for letter in wire.told])
    for secret in ("mallory", "fraud", "Ada", "4711", "scheduler", "agent", "@"):
        assert secret not in text
    assert sink_of(process).state == "ended"


def test_a_step_that_fails_for_good_is_told_with_its_code(wire: Wire) -> None:
    told()
    toy.script["toy.beta"] = lambda call: (_ for _ in ()).throw(Transient("http_500", "oh no"))

    wire.run_until_idle()

    failed = next(one for one in read(wire.told) if one["event"] == "failed")
    assert failed["detail"] == {"kind": "transient", "code": "http_500"}
    assert failed["step"] == "two"


def test_an_operator_s_doing_is_told_by_the_next_look(wire: Wire) -> None:
    process = told()
    relays.report()
    wire.drop_all()
    commands.pause(process.pk, actor="operator:mallory", reason="wait")

    scheduler.advance()

    assert len(wire.of(dispatch.REPORT)) == 1
    wire.deliver_all(dispatch.REPORT)
    assert read(wire.told)[-1]["event"] == "paused"


@pytest.mark.fault("F6")
def test_a_lost_nudge_costs_a_poll(wire: Wire) -> None:
    told()
    scheduler.advance()
    wire.messages = [one for one in wire.messages if one.task != dispatch.REPORT]

    scheduler.advance()

    assert wire.deliver_all(dispatch.REPORT) == 1
    assert sequences(wire) == [1, 2]


def test_a_settled_batch_asks_for_a_relay_only_where_somebody_is_told(wire: Wire) -> None:
    submit("toy_line", subject="Quiet", input={})
    wire.run_until_idle()
    assert not wire.of(dispatch.REPORT)

    told()
    scheduler.advance()
    relays.report()
    wire.deliver_all(dispatch.REPORT)
    wire.deliver_all(dispatch.RUN_BUNDLE)
    wire.deliver_all(dispatch.SETTLE)

    assert len(wire.of(dispatch.REPORT)) == 1


def test_a_process_that_nobody_is_told_of_costs_no_statement(wire: Wire) -> None:
    def statements() -> list[str]:
        scheduler.advance()
        wire.deliver_all(dispatch.RUN_BUNDLE)
        with CaptureQueriesContext(connection) as captured:
            wire.deliver_all(dispatch.SETTLE)
        return [one["sql"] for one in captured.captured_queries]

    submit("toy_line", subject="Quiet", input={})
    quiet = statements()
    wire.run_until_idle()
    told()
    heard = statements()

    assert not [one for one in quiet if "UPDATE workers_sink" in one]
    assert len([one for one in heard if "UPDATE workers_sink" in one]) == 1


def test_sinks_that_know_everything_are_not_due(wire: Wire) -> None:
    told()
    assert find_work.look().has_untold
    relays.report()
    assert not find_work.look().has_untold
    scheduler.advance()
    assert find_work.look().has_untold


def _asked_to_report(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> int:
    """Look once, and return how often that asked a relay to report."""
    asked: list[None] = []
    monkeypatch.setattr(dispatch, "report_later", lambda: asked.append(None))
    scheduler.advance()
    return len(asked)


def test_a_look_asks_for_a_report_of_what_it_began(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    told()
    relays.report()
    assert not find_work.look().has_untold

    assert _asked_to_report(wire, monkeypatch) == 1


def test_a_look_asks_for_a_report_of_what_it_decided(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = told()
    relays.report()
    commands.pause(process.pk, actor="ann", reason="a while")
    relays.report()
    long_ago = timezone.now() - timedelta(minutes=1)
    Process.objects.filter(pk=process.pk).update(needs_decision=True, deadline_at=long_ago)

    assert _asked_to_report(wire, monkeypatch) == 1


def test_a_look_that_found_nothing_asks_for_no_report(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    told()
    wire.run_until_idle()

    assert _asked_to_report(wire, monkeypatch) == 0


def test_a_sink_is_told_again_from_where_it_stood_or_from_further_back(wire: Wire) -> None:
    process = told()
    wire.run_until_idle()
    sink = sink_of(process)
    assert sinks.redeliver(sink.pk, actor="operator:ann") is False, "it was told everything"

    assert sinks.redeliver(sink.pk, after=3, actor="operator:ann") is True
    wire.told.clear()
    relays.report()
    assert sequences(wire) == [4, 5]
    assert sink_of(process).state == "ended"

    Sink.objects.update(state="undeliverable", cursor=2, tries=20)
    wire.told.clear()
    assert sinks.redeliver(sink.pk, actor="operator:ann") is True
    relays.report()
    assert sequences(wire) == [3, 4, 5]


def test_without_a_secret_no_webhook_leaves(wire: Wire, secrets: Any) -> None:
    secrets.clear()
    process = told(webhook("https://acme.example/told"))

    relays.report()

    assert wire.told == []
    assert sink_of(process).state == "undeliverable"
    assert registry.webhook_secrets("client:acme") == ()


def test_the_invariant_finds_a_sink_that_was_forgotten(wire: Wire) -> None:
    told()
    wire.run_until_idle()
    assert invariants.violations() == []

    Sink.objects.update(last=4)

    (found,) = invariants.violations()
    assert found.invariant == "whoever_is_told_is_told_everything"
