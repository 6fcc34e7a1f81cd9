"""Two relays at once, and relays against the Scheduler: never out of order, nothing forgotten."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections

from tests.concurrency.racing import race
from tests.integration.conftest import begin
from tests.reporting.conftest import relay, sequences, sink_of, told, webhook
from tests.reporting.receiver import receiving
from workers.client import operations
from workers.models import Process, Sink
from workers.notify import relay as relays
from workers.notify import threads as relay_threads
from workers.notify.senders import StatusMessage
from workers.notify.senders import webhook as sender
from workers.store import sinks
from workers.supervisor import beat_schedule
from workers.wire import dispatch

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def flow_rows(transactional_db) -> None:
    beat_schedule.ensure_flow()


@pytest.mark.fault("F18")
def test_two_relays_never_claim_the_same_sink():
    for n in range(40):
        told(subject=f"Toy {n}")

    def claim_until_none() -> list[int]:
        found: list[int] = []
        while taken := sinks.claim("queue", 3, 60):
            found += [sink.id for sink in taken]
        return found

    results = race([claim_until_none, claim_until_none, claim_until_none])

    claimed = [one for result in results for one in result]
    assert sorted(claimed) == sorted(Sink.objects.values_list("pk", flat=True))


def test_two_relays_tell_each_process_in_order_while_it_goes_on(wire, monkeypatch):
    processes = [told(subject=f"Toy {n}") for n in range(15)]
    over = threading.Event()

    def go_on() -> None:
        wire.run_until_idle()
        over.set()

    def tell() -> None:
        while not over.is_set():
            relay("queue").run()

    # The relays are these two, and not those that the wire would run.
    monkeypatch.setattr(dispatch, "report_later", lambda: None)
    for result in race([go_on, tell, tell]):
        assert result is None
    relays.report()

    by_process: dict[str, list[int]] = {}
    for letter in wire.told:
        by_process.setdefault(letter.body.decode().split('"toy_id": ')[1][:9], []).append(
            letter.sequence
        )
    assert len(by_process) == len(processes)
    for told_in_order in by_process.values():
        assert told_in_order == [1, 2, 3, 4, 5]
    assert set(Sink.objects.values_list("state", flat=True)) == {"ended"}


@contextmanager
def _stopped_before_the_cursor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Have the first relay that has sent something stop there until it is let go."""
    sent, goes_on = threading.Event(), threading.Event()
    real, first = sinks.told, threading.Lock()

    def slow(found: Any) -> Any:
        if found and first.acquire(blocking=False):
            sent.set()
            assert goes_on.wait(20)
        return real(found)

    with monkeypatch.context() as patch:
        patch.setattr(sinks, "told", slow)
        yield sent, goes_on
    goes_on.set()


@pytest.mark.fault("F21")
def test_a_relay_that_froze_beyond_its_claim_sends_nothing_after_it_wakes(wire, monkeypatch):
    process = told()
    monkeypatch.setattr(dispatch, "report_later", lambda: None)
    begin(wire)
    with _stopped_before_the_cursor(monkeypatch) as (sent, goes_on):

        def frozen() -> None:
            relay("queue").run()

        def other() -> None:
            assert sent.wait(20)
            # Its claim is over, as the database has it.
            Sink.objects.update(next_try_at=process.created_at)
            relay("queue").run()
            goes_on.set()

        assert race([frozen, other]) == [None, None]

    assert sequences(wire) == [1, 1, 2]
    assert sink_of(process).cursor == 2


def test_a_row_written_while_the_relay_ends_its_claim_is_not_forgotten(wire):
    process = told()
    monkey = threading.Event()

    def tell() -> None:
        relay("queue").run()
        monkey.set()

    def pause() -> None:
        operations.pause(process.pk, actor="operator:eve", reason="wait")

    race([tell, pause])
    relays.report()

    assert sequences(wire) == [1, 2]
    sink = sink_of(process)
    assert (sink.cursor, sink.last) == (2, Process.objects.get(pk=process.pk).sequence)


def test_an_order_is_processed_while_its_webhook_hangs(wire, monkeypatch, secrets, settings):
    settings.DEBUG, settings.SAS_WEBHOOK_SECONDS = True, 20
    monkeypatch.setitem(relays.senders, "webhook", sender.send)
    with receiving() as receiver:
        receiver.hangs.set()
        threads = _threads_of_this_test(monkeypatch)
        # Not by a message: the wire delivers thousands while a thread sends its first.
        monkeypatch.setattr(dispatch, "report_later", relay_threads.wake_up)
        process, queued = told(webhook(receiver.url)), told(subject="Toy 2")
        wire.run_until_idle()

        # It hangs in its first message, and everything else is over.
        assert _in_time(lambda: len(receiver.received) == 1)
        assert Process.objects.get(pk=process.pk).state == "processed"
        assert sink_of(process).cursor == 0
        assert _in_time(lambda: sink_of(queued).state == "ended")

        receiver.hangs.clear()
        receiver.goes_on.set()
        assert _in_time(lambda: sink_of(process).state == "ended")
        _end(threads)


def _threads_of_this_test(monkeypatch: pytest.MonkeyPatch) -> list[relay_threads.RelayThread]:
    own_threads = [relay_threads.RelayThread(one) for one in relays.relays()]
    monkeypatch.setattr(relay_threads, "_threads", lambda: own_threads)
    monkeypatch.setattr(relay_threads, "IDLE_SECONDS", 0.1)
    return own_threads


def _end(own_threads: list[relay_threads.RelayThread]) -> None:
    """Wait until the threads have given their connections back."""
    _in_time(lambda: not [one for one in own_threads if one._is_due.is_set()], 2)
    threading.Event().wait(0.5)


def _in_time(holds: Any, seconds: float = 10) -> bool:
    end = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if holds():
            return True
        end.wait(0.02)
    connections.close_all()
    return False


def test_a_desk_outlives_whatever_goes_wrong(wire, monkeypatch, caplog):
    process = told()
    own_threads = _threads_of_this_test(monkeypatch)
    real, broken = sinks.claim, threading.Event()

    def breaks(kind: str, *args: Any, **options: Any) -> Any:
        if not broken.is_set():
            broken.set()
            raise RuntimeError("the database is away")
        return real(kind, *args, **options)

    monkeypatch.setattr(sinks, "claim", breaks)
    with caplog.at_level("CRITICAL"):
        relay_threads.wake_up()
        assert _in_time(broken.is_set)
        relay_threads.wake_up()

        assert _in_time(lambda: sink_of(process).cursor == 1)
    _end(own_threads)


def test_letters_are_sent_outside_of_any_transaction(wire, monkeypatch):
    process = told()
    seen: list[Any] = []

    def looks(letter: StatusMessage) -> None:
        # From another connection: what is committed, and not locked.
        try:
            seen.append(sinks.redeliver(sink_of(process).pk, actor="operator:ann"))
        finally:
            connections.close_all()

    monkeypatch.setitem(relays.senders, "queue", looks)
    relay("queue").run()

    assert seen[0] is True
