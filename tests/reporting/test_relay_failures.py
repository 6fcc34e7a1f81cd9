"""What cannot be delivered is tried again, given up once, and holds up nobody else."""

import logging
import threading
from datetime import timedelta
from typing import Any

import pytest

from tests.alerts import text_of
from tests.reporting.conftest import QUEUE, relay, sink_of, told, webhook
from workers.client.submission import submit
from workers.models import Alert, Process, Sink
from workers.notify import relay as relays
from workers.notify.senders import NotSent, StatusMessage, Undelivered
from workers.rules.rows import NewSink
from workers.store import sinks
from workers.testing import frozen_clock


def fails_with(problem: BaseException) -> Any:
    def send(letter: StatusMessage) -> None:
        raise problem

    return send


def hangs_until_the_well_is_told(dead: str) -> Any:
    """Make a sender that hangs at addresses with ``dead`` in them, up to 10 s.

    Whoever takes the healthy one's slot meanwhile waits for a time-out.
    """
    reached = threading.Event()

    def send(letter: StatusMessage) -> None:
        if "well" in letter.address:
            reached.set()
        elif dead in letter.address and not reached.wait(10):
            raise Undelivered("no answer in time", is_away=True)

    return send


def test_a_failed_try_is_made_again_after_a_backoff_and_nothing_is_left_out(wire, monkeypatch):
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


def test_a_receiver_s_own_time_counts_where_it_is_longer(wire, secrets, monkeypatch):
    process = told(webhook("https://acme.example/told"))
    problem = Undelivered("answered 503", retry_after=900)
    monkeypatch.setitem(relays.senders, "webhook", fails_with(problem))
    with frozen_clock() as clock:
        relays.report()
        assert sink_of(process).next_try_at == clock.now + timedelta(seconds=900)


@pytest.mark.fault("F32")
def test_after_all_tries_it_is_undeliverable_with_one_alert_and_the_order_goes_on(
    wire, monkeypatch
):
    processes = [told(subject=f"Toy {n}") for n in range(3)]
    tries = []

    def fails(letter: StatusMessage) -> None:
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


def test_the_tries_take_about_a_day():
    backoff = relays.Backoff(10, 14_400)
    mean = sum(backoff.ceiling(n) / 2 for n in range(1, 20))
    assert 0.5 < mean / 86_400 < 1.5


def test_one_that_is_gone_is_given_up_at_once(wire, secrets, monkeypatch):
    process = told(webhook("https://acme.example/told?key=private"))
    problem = Undelivered("answered 410", is_gone=True)
    monkeypatch.setitem(relays.senders, "webhook", fails_with(problem))

    relays.report()

    assert (sink_of(process).state, sink_of(process).tries) == ("undeliverable", 1)
    assert "private" not in text_of(Alert.objects.get())


@pytest.mark.fault("F11")
def test_a_broker_that_is_away_counts_no_try(wire, monkeypatch):
    process = told()
    told(subject="Toy 2")
    tries = []

    def is_away(letter: StatusMessage) -> None:
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


def test_an_error_of_ours_is_a_failed_try_and_no_other_sink_s(wire, monkeypatch, caplog):
    bad, good = told(subject="Toy 1"), told(subject="Toy 2")
    real = relays.senders["queue"]

    def stumbles(letter: StatusMessage) -> None:
        if b"Toy 1" in letter.body:
            raise KeyError("x")
        real(letter)

    monkeypatch.setitem(relays.senders, "queue", stumbles)
    with caplog.at_level(logging.CRITICAL):
        relays.report()

    assert sink_of(bad).tries == 1
    assert sink_of(bad).problem == {"code": "failed", "params": {"error": "KeyError"}}
    assert sink_of(good).cursor == 1


def test_letters_that_cannot_be_written_hold_up_no_other(wire, monkeypatch, caplog):
    nameless = submit("toy_told", subject="Toy 1", input={}, sinks=(QUEUE,))
    unknown, good = told(subject="Toy 2"), told(subject="Toy 3")
    Process.objects.filter(pk=unknown.pk).update(version=9)

    with caplog.at_level(logging.CRITICAL):
        relays.report()

    assert sink_of(good).cursor == 1
    for process in (nameless, unknown):
        assert (sink_of(process).cursor, sink_of(process).tries) == (0, 0)


def test_an_address_that_does_not_answer_is_left_alone_for_a_while(wire, secrets, monkeypatch):
    secrets["client:other"] = secrets["client:acme"]
    for n in range(20):
        told(webhook("https://acme.example/told"), subject=f"Toy {n}")
    other = told(webhook("https://other.example/told", owner="client:other"), subject="Other")
    tries = []

    def hangs(letter: StatusMessage) -> None:
        tries.append(letter.address)
        if "acme" in letter.address:
            raise Undelivered("no answer in time", is_away=True)

    monkeypatch.setitem(relays.senders, "webhook", hangs)
    relay("webhook").run()

    assert tries.count("https://acme.example/told") == 3, "as many as may be under way at once"
    assert sink_of(other).cursor == 1
    assert Sink.objects.filter(tries=0, owner="client:acme").count() == 17


def test_a_dead_address_holds_up_no_other_of_its_owner(wire, secrets, monkeypatch):
    for n in range(10):
        told(webhook("https://acme.example/dead"), subject=f"Toy {n}")
    healthy = told(webhook("https://acme.example/well"), subject="Healthy")
    monkeypatch.setitem(relays.senders, "webhook", hangs_until_the_well_is_told("/dead"))

    relay("webhook").run()

    assert sink_of(healthy).cursor == 1
    assert not Sink.objects.filter(tries__gt=0).exists(), "nothing had to wait for a time-out"


def test_an_address_of_two_owners_is_left_alone_for_one_of_them_only(wire, secrets, monkeypatch):
    secrets["client:other"] = secrets["client:acme"]
    for n in range(10):
        told(webhook("https://both.example/told"), subject=f"Toy {n}")
    other = told(webhook("https://both.example/told", owner="client:other"), subject="Other")

    def refuses(letter: StatusMessage) -> None:
        if letter.secrets and b"Other" not in letter.body:
            raise Undelivered("answered 503", is_away=True)

    monkeypatch.setitem(relays.senders, "webhook", refuses)
    relay("webhook").run()

    assert sink_of(other).cursor == 1


def test_a_dead_server_holds_up_no_other_of_its_owner_whatever_the_paths(
    wire, secrets, monkeypatch
):
    for n in range(10):
        told(webhook(f"https://dead.example/{n}"), subject=f"Toy {n}")
    # One whose name only begins alike.
    alike = told(webhook("https://dead.example.org/told"), subject="Alike")
    healthy = told(webhook("https://well.example/told"), subject="Healthy")
    monkeypatch.setitem(relays.senders, "webhook", hangs_until_the_well_is_told("dead.example/"))

    relay("webhook").run()

    assert (sink_of(healthy).cursor, sink_of(alike).cursor) == (1, 1)
    assert not Sink.objects.filter(tries__gt=0).exists(), "nothing had to wait for a time-out"


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("https://a.example/x/y?z=/", "https://a.example"),
        ("http://a.example:81", "http://a.example:81"),
        ("http://a.example?x=a/b", "http://a.example?x=a"),
        ("replies.acme.one", "replies.acme.one"),
    ],
)
def test_what_is_on_a_crowded_server_is_left(secrets, address, server):
    kind = "webhook" if ":" in address else "queue"
    process = told(NewSink(kind, address, "client:acme"))
    (sink,) = sinks.claim(kind, 10, 60)
    assert sink.server == ("client:acme", server)
    sinks.put_off(sink, 0)

    assert sinks.claim(kind, 10, 60, not_on={sink.server}) == []
    near = {("client:acme", server[:-1]), ("client:other", server)}
    assert [one.process_id for one in sinks.claim(kind, 10, 60, not_on=near)] == [process.pk]


def test_rests_are_forgotten(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(relays, "monotonic", lambda: now[0])
    one = relay("webhook")
    for n in range(100):
        one._rest(("client:acme", f"https://acme.example/{n}"))
    assert len(one._resting()) == 100

    now[0] = relays.REST_SECONDS[0] + relays.REMEMBERED_SECONDS + 1
    assert one._resting() == set()
    assert not one._rests
