"""The loop outlives everything: an inbox that fails, a database that is away, and the end."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from amqp.exceptions import AccessRefused, NotAllowed
from django.db import InterfaceError, InternalError, OperationalError, ProgrammingError

from orders.consumer import handling, loop
from orders.consumer.backoff import Backoff
from orders.consumer.handling import HandlingResult
from orders.consumer.identity import Sender
from orders.consumer.loop import Consumer, LoginRefused
from orders.consumer.message import Message
from orders.consumer.turns import Turns


class Inbox:
    """An inbox by script: each connection delivers what its turn says, or raises it."""

    def __init__(self, *turns: list[Any]) -> None:
        self.turns = deque(turns)
        self.waiting = Turns()
        self.acked: list[bytes] = []
        self.log: list[str] = []
        self.now: deque[Any] = deque()
        self.when_dry: Callable[[], None] = lambda: None

    def open(self) -> None:
        self.log.append("open")
        self.now = deque(self.turns.popleft() if self.turns else [])
        if self.now and isinstance(self.now[0], Exception):
            raise self.now.popleft()

    def wait(self, seconds: float) -> None:
        assert 0 < seconds <= 1.0
        if not self.now:
            if not self.turns and not self.waiting:
                self.when_dry()
            return
        found = self.now.popleft()
        if isinstance(found, Exception):
            raise found
        self.waiting.append(Message(found, tag=found))

    def fetch(self) -> None:
        pass

    def ack(self, message: Message) -> None:
        self.acked.append(message.tag)

    def is_broker_error(self, error: BaseException) -> bool:
        return isinstance(error, OSError)

    def close(self) -> None:
        self.waiting.clear()
        if self.log[-1:] != ["close"]:
            self.log.append("close")


class Answers:
    def __init__(self) -> None:
        self.told: list[bytes] = []
        self.is_closed = False

    def tell(self, message: Message, handled: HandlingResult) -> None:
        self.told.append(message.body)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def handled(monkeypatch) -> list[bytes]:
    """The bodies that were handled; no database is asked, and no pause is long."""
    seen: list[bytes] = []

    def handle(message: Message) -> HandlingResult:
        seen.append(message.body)
        return HandlingResult(Sender(None))

    monkeypatch.setattr(handling, "handle", handle)

    def give_up(message: Message, _: object) -> HandlingResult:
        seen.append(b"!" + message.body)
        return HandlingResult(Sender(None))

    monkeypatch.setattr(handling, "give_up", give_up)
    monkeypatch.setattr(loop, "close_old_connections", lambda: None)
    monkeypatch.setattr(loop.connection, "close", lambda: None)
    monkeypatch.setattr(Backoff, "next", lambda self: 0.01)
    return seen


def run(inbox: Inbox, answers: Answers | None = None) -> Consumer:
    consumer = Consumer(inbox, answers or Answers())  # type: ignore[arg-type]
    inbox.when_dry = consumer.stop
    end = time.monotonic() + 10
    original = inbox.wait

    def wait(seconds: float) -> None:
        assert time.monotonic() < end, "it never ended"
        original(seconds)

    inbox.wait = wait  # type: ignore[method-assign]
    consumer.run()
    return consumer


def test_messages_are_handled_in_order_and_acknowledged(handled):
    inbox, answers = Inbox([b"1", b"2", b"3"]), Answers()
    run(inbox, answers)
    assert handled == inbox.acked == answers.told == [b"1", b"2", b"3"]
    assert answers.is_closed
    assert inbox.log == ["open", "close"]


@pytest.mark.parametrize(
    "error", [ConnectionResetError("gone"), TimeoutError(), KeyError("unread"), RecursionError()]
)
def test_a_lost_broker_is_connected_to_again(handled, error):
    refused = ConnectionRefusedError("not yet")
    inbox = Inbox([b"1", error, b"lost"], [refused], [refused], [b"2"])
    run(inbox)
    assert handled == inbox.acked == [b"1", b"2"]
    assert inbox.log == ["open", "close"] * 4


@pytest.mark.parametrize("error", [AccessRefused("403"), NotAllowed("530")], ids=repr)
def test_the_consumer_ends_where_it_was_never_let_in(handled, error):
    inbox = Inbox([error], [b"1"])
    with pytest.raises(LoginRefused, match="Correct BROKER_URL"):
        run(inbox)
    assert (handled, inbox.log) == ([], ["open", "close"])


def test_the_consumer_waits_where_it_was_let_in_before(handled, caplog):
    inbox = Inbox([b"1", OSError("gone\nfor good")], [NotAllowed("vhost gone")], [b"2"])
    run(inbox)
    assert handled == [b"1", b"2"]
    lost = [vars(one)["reason"] for one in caplog.records if one.message == "broker_lost"]
    assert len(lost) == 2
    assert lost[0] == "OSError: gone"


def test_the_consumer_waits_for_a_broker_that_was_away_at_its_start(handled):
    run(Inbox([ConnectionRefusedError()], [b"1"]))
    assert handled == [b"1"]


def test_an_acknowledgement_that_fails_is_a_lost_broker(handled, monkeypatch):
    inbox = Inbox([b"1"], [b"1"])
    real, failed = inbox.ack, []

    def ack(message: Message) -> None:
        if not failed:
            failed.append(1)
            raise BrokenPipeError
        real(message)

    monkeypatch.setattr(inbox, "ack", ack)
    run(inbox)
    assert handled == [b"1", b"1"]
    assert inbox.acked == [b"1"]


@pytest.mark.parametrize(
    "kind", [OperationalError, InterfaceError, InternalError, ProgrammingError]
)
def test_a_database_that_is_away_is_waited_for_and_nothing_acknowledged(handled, monkeypatch, kind):
    inbox = Inbox([b"1", b"2"])
    before: list[int] = []
    real = handling.handle

    def handle(message: Message) -> HandlingResult:
        before.append(len(inbox.acked))
        if len(before) <= 20:
            raise kind("away")
        return real(message)

    monkeypatch.setattr(handling, "handle", handle)
    monkeypatch.setattr(handling, "is_database_there", lambda: False)
    run(inbox)
    assert before[:21] == [0] * 21
    assert handled == inbox.acked == [b"1", b"2"]
    assert inbox.log == ["open", "close"], "the broker's connection was kept"


def test_a_message_that_the_database_always_fails_at_is_given_up(handled, monkeypatch):
    inbox = Inbox([b"1", b"2"])
    real, tries = handling.handle, []

    def handle(message: Message) -> HandlingResult:
        if message.body == b"1":
            tries.append(1)
            raise OperationalError("canceling statement due to statement timeout")
        return real(message)

    monkeypatch.setattr(handling, "handle", handle)
    monkeypatch.setattr(handling, "is_database_there", lambda: True)
    run(inbox)
    assert len(tries) == loop.TRIES
    assert handled == [b"!1", b"2"]
    assert inbox.acked == [b"1", b"2"]


def test_it_ends_after_the_message_in_hand(handled, monkeypatch):
    inbox = Inbox([b"1"])
    consumer = Consumer(inbox, Answers())  # type: ignore[arg-type]
    real = handling.handle

    def handle(message: Message) -> HandlingResult:
        inbox.waiting.append(Message(b"2", tag=b"2"))
        consumer.stop()
        return real(message)

    monkeypatch.setattr(handling, "handle", handle)
    consumer.run()
    assert handled == inbox.acked == [b"1"]
    assert inbox.log == ["open", "close"]


def test_it_ends_within_a_second_while_it_waits_for_a_broker(monkeypatch):
    inbox = Inbox(*[[ConnectionRefusedError()]] * 3)
    monkeypatch.setattr(Backoff, "next", lambda self: 30.0)
    consumer = Consumer(inbox, Answers())  # type: ignore[arg-type]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        consumer.stop()

    monkeypatch.setattr(loop, "time", Mock(wraps=time, sleep=sleep))
    consumer.run()
    assert len(slept) == 1
    assert slept[0] <= 1.0


def test_pauses_double_to_a_limit_and_begin_again():
    backoff = Backoff()
    assert [backoff.next() for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    for _ in range(5000):
        backoff.next()
    backoff.reset()
    assert backoff.next() == 0.5
