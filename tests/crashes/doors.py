"""Doors: messages of orders, dead letters, clients and tokens, webhooks in and statuses out."""

import json
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from django.core.cache import cache
from django.utils import timezone

from orders import dead_letters, rate_limits, tokens
from orders.consumer.answers import Answers
from orders.consumer.loop import Consumer
from orders.consumer.message import Message
from orders.consumer.turns import Turns
from orders.models import ApiClient, ApiToken, DeadLetter, Order, Product, RateCount
from orders.rate_limits import Limit
from tests.crashes.scenario import Scenario, is_first, nothing, services, submit_once
from tests.queue_door.sending import BODY
from tests.toyflow import agents as toy
from tests.toyflow import webhooks as provider
from workers.client import webhooks
from workers.client.submission import submit
from workers.definitions.agent import Deferred
from workers.definitions.webhook_provider import Answer, Event
from workers.models import Alert, Journal, Process, ReceivedWebhook, Sink, Step
from workers.notify import relay
from workers.notify.senders import StatusMessage, Undelivered
from workers.rules.rows import NewSink
from workers.store import sinks
from workers.testing import Aftermath, Clock, Wire
from workers.testing.result import OF_AN_ATTEMPT

page: dict[str, Any] = {}


class Inbox:
    """A queue that outlives its consumer: what was not acknowledged comes again."""

    def __init__(self, messages: dict[str, tuple[bytes, dict[str, Any]]]) -> None:
        self.waiting = Turns()
        self.when_dry: Callable[[], None] = lambda: None
        self._messages = messages

    def open(self) -> None:
        headers = {"client": "acme", "token": page["token"]}
        for tag, (body, properties) in self._messages.items():
            if services().find(f"acked {tag}") is None:
                again = services().find(f"delivered {tag}") is not None
                services().act(f"delivered {tag}", "mishap")
                self.waiting.append(
                    Message(body, properties, headers, is_redelivered=again, tag=tag)
                )

    def wait(self, seconds: float) -> None:
        self.when_dry()

    def fetch(self) -> None:
        """Bring nothing: what there is came at the opening."""

    def ack(self, message: Message) -> None:
        services().act(f"acked {message.tag}", "ack")

    def is_broker_error(self, error: BaseException) -> bool:
        return False

    def close(self) -> None:
        self.waiting.clear()


def acme(wire: Wire) -> ApiClient:
    cache.clear()
    Product.objects.create(sku="SKU-001", name="Lamp", price="9.50", stock=100)
    client = ApiClient.objects.create(name="acme", created_at=timezone.now())
    page["token"] = tokens.issue(client)
    return client


def _consume() -> None:
    good = json.dumps(BODY).encode()
    messages = {
        "one": (good, {"message_id": "key-1"}),
        "two": (b"{", {"message_id": "key-2", "reply_to": "replies.acme.in"}),
        "three": (good, {"message_id": "key-3"}),
    }
    inbox = Inbox(messages)
    consumer = Consumer(inbox, Answers("memory://"))  # type: ignore[arg-type]
    inbox.when_dry = consumer.stop
    consumer.run()


def _one_each(after: Aftermath) -> None:
    assert [order.submission_key for order in Order.objects.order_by("number")] == [
        "key-1",
        "key-3",
    ]
    letter = DeadLetter.objects.get()
    assert (letter.message_id, letter.state, letter.client) == ("key-2", "open", "acme")
    assert letter.properties["answer"] == "sent"
    assert services().count()["ack"] == 3
    assert ApiToken.objects.get().last_used_at is not None
    assert Journal.objects.filter(process__workflow="fulfilment").count() == 2


def _letter(wire: Wire) -> None:
    acme(wire)
    body = json.dumps(BODY).encode()
    message = Message(body, {"message_id": "key-1"}, {"client": "acme"})
    dead_letters.keep(message, [], ApiClient.objects.get())


def _discarded(wire: Wire) -> None:
    _letter(wire)
    dead_letters.discard(1, actor="operator:ann", reason="no use")


def _resolve(verb: str) -> Callable[[], None]:
    def begin() -> None:
        try:
            dead_letters.VERBS[verb](1, actor="operator:ann", reason="because")
        except dead_letters.NotNow:
            assert DeadLetter.objects.get().comment

    return begin


def _resolved(state: str, orders: int, lines: int) -> Callable[[Aftermath], None]:
    def check(after: Aftermath) -> None:
        letter = DeadLetter.objects.get()
        assert (letter.state, Order.objects.count()) == (state, orders)
        assert len(letter.comment.splitlines()) == lines
        assert (letter.order_id is not None) == bool(orders)

    return check


def _noted(after: Aftermath) -> None:
    letter = DeadLetter.objects.get()
    # Whoever does not know whether it was written down writes it down again.
    assert len(letter.comment.splitlines()) in ((1,) if after.crash is None else (1, 2))
    assert letter.state == "open"


def _awaits_payment(wire: Wire) -> None:
    toy.script["toy.alpha"] = lambda call: Deferred(within_seconds=7200)
    submit("toy_answered", subject="Toy 1", input={})
    wire.run_until_idle()


def _take_webhook() -> None:
    provider.script["answers"] = lambda event: Answer(
        Process.objects.get().pk, "ask", dict(event.body)
    )
    webhooks.take(provider.PAY, Event("msg_1", timezone.now(), {"paid": True}))


def _taken_once(after: Aftermath) -> None:
    assert ReceivedWebhook.objects.count() == 1
    assert Step.objects.get(name="ask").result == {"paid": True}
    assert Process.objects.get().state == "processed"
    after.assert_same_journal()


def _ask_for_links() -> None:
    rate_limits.first_exceeded([(Limit("links", 5, 600), "192.0.2.1")])


def _counted(after: Aftermath) -> None:
    # Whoever does not know whether they were counted asks again, and that counts, too.
    assert RateCount.objects.get().count in ((1,) if after.crash is None else (1, 2))


TOLD = (NewSink("queue", "replies.acme.one"),)


def _telling(problem: Callable[[], Undelivered]) -> Callable[[Wire, Clock], None]:
    """Settle; the first message to a submitter fares so, once in all processes."""

    def run(wire: Wire, clock: Clock) -> None:
        real = relay.senders["queue"]

        def send(letter: StatusMessage) -> None:
            if is_first("undelivered"):
                raise problem()
            real(letter)

        with patch.dict(relay.senders, queue=send):
            wire.run_until_settled(clock)

    return run


def _told_everything(after: Aftermath) -> None:
    after.assert_told_everything()
    assert Sink.objects.get().state == "ended"
    after.assert_same_journal()


def _told_again(after: Aftermath) -> None:
    after.assert_told_everything()
    assert Sink.objects.get().state == "ended"
    # Whoever died over it asked a second time, and the journal says so.
    after.assert_same_journal(may_add={*OF_AN_ATTEMPT, "retold"})


def _given_up(after: Aftermath) -> None:
    # Refused once and then killed, it is taken the next time: then all is told.
    sink, alerts = Sink.objects.get(), list(Alert.objects.values_list("code", "times"))
    is_told = after.crash is not None and sink.state == "ended"
    if is_told:
        after.assert_told_everything()
    assert is_told or (sink.state, alerts) == ("undeliverable", [("sink_undeliverable", 1)])


def _redeliver(wire: Wire, clock: Clock) -> None:
    wire.run_until_settled(clock)
    sinks.redeliver(Sink.objects.get().pk, after=0, actor="operator:ann")
    wire.run_until_settled(clock)


SCENARIOS = [
    Scenario("consumer", _consume, _one_each, prepare=acme, run=nothing),
    Scenario("limit", _ask_for_links, _counted, run=nothing),
    Scenario(
        "replay", _resolve("replay"), _resolved("replayed", 1, 1), prepare=_letter, run=nothing
    ),
    Scenario("note", _resolve("note"), _noted, prepare=_letter, run=nothing),
    Scenario(
        "discard", _resolve("discard"), _resolved("discarded", 0, 1), prepare=_letter, run=nothing
    ),
    Scenario(
        "restore", _resolve("restore"), _resolved("open", 0, 2), prepare=_discarded, run=nothing
    ),
    Scenario(
        "webhook", _take_webhook, _taken_once, prepare=_awaits_payment, brief=("webhooks.take",)
    ),
    Scenario(
        "status refused",
        submit_once("toy_informed", sinks=TOLD),
        _told_everything,
        run=_telling(lambda: Undelivered("answered 503")),
        brief=("sinks.end_claim", "sinks.claim", "sinks.told"),
    ),
    Scenario(
        "reply queue gone",
        submit_once("toy_informed", sinks=TOLD),
        _given_up,
        run=_telling(lambda: Undelivered("there is no such queue", is_gone=True)),
        brief=("sinks.end_claim", "alerts.raise_alert", "relay.give_up"),
    ),
    Scenario(
        "tell again",
        submit_once("toy_informed", sinks=TOLD),
        _told_again,
        run=_redeliver,
        brief=("sinks.redeliver", "sinks.claim"),
    ),
]
