"""Every submitter is told everything, in order, at least once, and holds nothing up."""

from typing import Any
from unittest.mock import Mock

import pytest

from tests.integration.conftest import begin
from tests.reporting.conftest import QUEUE, read, relay, sequences, sink_of, told, webhook
from workers import tasks
from workers.definitions import registry
from workers.models import Journal, Sink
from workers.notify import relay as relays
from workers.notify.senders import StatusMessage, Undelivered
from workers.ops import invariants
from workers.store import sinks
from workers.testing import WorkerDied, frozen_clock
from workers.wire import dispatch


def test_a_submitter_is_told_everything_in_order_without_a_gap(wire):
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


def test_each_of_several_sinks_is_told_by_itself(wire, secrets):
    told(QUEUE, webhook("https://acme.example/told"))

    wire.run_until_idle()

    for address in (QUEUE.address, "https://acme.example/told"):
        assert [one.sequence for one in wire.told if one.address == address] == [1, 2, 3, 4, 5]
    assert len({letter.id for letter in wire.told}) == 10


def test_every_process_has_its_own_order(wire):
    for n in range(7):
        told(subject=f"Toy {n}")

    wire.run_until_idle()

    by_process: dict[str, list[int]] = {}
    for one in read(wire.told):
        by_process.setdefault(one["toy_id"], []).append(one["sequence"])
    assert by_process == {f"Toy {n}": [1, 2, 3, 4, 5] for n in range(7)}


def test_a_relay_that_dies_after_sending_tells_the_same_again_under_the_same_id(wire, monkeypatch):
    process = told()
    sent: list[StatusMessage] = []

    def sends_and_dies(letter: StatusMessage) -> None:
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


def test_overtaken_relay_records_neither_progress_nor_failure(wire):
    process = told()
    slow = sinks.claim("queue", 1, 60)[0]
    Sink.objects.update(cursor=1)

    assert sinks.told([sinks.SinkProgress(slow, 3)]) == set()
    assert sink_of(process).cursor == 1
    assert sinks.give_up(slow, Undelivered("late").record) is False
    sinks.failed(slow, 5, Undelivered("late").record)

    assert (sink_of(process).tries, sink_of(process).state) == (0, "open")


def test_a_relay_that_is_overtaken_sends_nothing_more(wire, monkeypatch):
    process = told()
    begin(wire)
    sent = []

    def is_overtaken(letter: StatusMessage) -> None:
        sent.append(letter.sequence)

    monkeypatch.setitem(relays.senders, "queue", is_overtaken)
    real = sinks.told
    monkeypatch.setattr(
        sinks, "told", lambda found: (Sink.objects.update(cursor=2), real(found))[1]
    )

    relay("queue").run()

    assert sent == [1]
    assert sink_of(process).cursor == 2


def test_a_claim_ends_with_what_there_is_to_tell(wire):
    process = told()
    wire.deliver_all(dispatch.REPORT)
    relays.report()
    assert sequences(wire) == [1]

    begin(wire)
    relays.report()

    assert sequences(wire) == [1, 2]
    assert sink_of(process).state == "open"


def test_nothing_is_begun_under_a_claim_that_is_nearly_over(wire, monkeypatch):
    process = told()
    begin(wire)
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


def test_the_task_wakes_this_process_s_relays(monkeypatch):
    done: list[str] = []
    monkeypatch.setattr(tasks.threads, "wake_up", lambda: done.append("woken"))
    take_all = Mock(side_effect=lambda queue, task: done.append("taken along"))
    monkeypatch.setattr(tasks.queue_drain, "take_all", take_all)

    tasks.report()

    assert done == ["taken along", "woken"]


def test_more_rows_than_are_read_at_once_are_told_all_the_same(wire):
    process = told()
    last = 130
    Journal.objects.bulk_create(
        Journal(process=process, event="paused", actor="x", at=process.created_at, sequence=n)
        for n in range(2, last + 1)
    )
    Sink.objects.update(last=last)

    relays.report()

    assert sequences(wire) == list(range(1, last + 1))


def test_a_sink_is_told_again_from_where_it_stood_or_from_further_back(wire):
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


def test_without_a_secret_no_webhook_leaves(wire, secrets):
    secrets.clear()
    process = told(webhook("https://acme.example/told"))

    relays.report()

    assert wire.told == []
    assert sink_of(process).state == "undeliverable"
    assert registry.webhook_secrets("client:acme") == ()


def test_the_invariant_finds_a_sink_that_was_forgotten(wire):
    told()
    wire.run_until_idle()
    assert invariants.violations() == []

    Sink.objects.update(last=4)

    (found,) = invariants.violations()
    assert found.invariant == "whoever_is_told_is_told_everything"
