"""The same webhook several times at once: one of them counts."""

import threading
from collections import Counter

import pytest
from django.contrib.auth.models import Group

from tests.concurrency.racing import race
from tests.integration.conftest import only
from tests.receiving.conftest import event
from tests.toyflow import webhooks as provider
from tests.toyflow.webhooks import PAY
from workers.client import webhooks
from workers.definitions.webhook_provider import Answer, Event
from workers.exceptions import WebhookRefused
from workers.models import ReceivedWebhook
from workers.ops import invariants
from workers.rules.external_answers import Outcome

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_the_same_webhook_at_once_one_is_taken(waiting):
    def write_and_answer(event: Event) -> Answer:
        Group.objects.create(name=event.id)
        return Answer(waiting.pk, "ask", {"n": 1})

    provider.script["answers"] = write_and_answer
    results = race([lambda: webhooks.take(PAY, event())] * 4)

    assert Counter(results) == {Outcome.ACCEPTED: 1, Outcome.REPEATED: 3}
    assert Group.objects.count() == 1
    assert ReceivedWebhook.objects.count() == 1
    assert only(waiting, "ask").result == {"n": 1}
    assert invariants.violations() == []


def test_when_the_first_comes_to_nothing_the_second_is_taken(waiting):
    calls = []
    turn = threading.Lock()

    def first_stumbles(event: Event) -> Answer:
        with turn:
            calls.append(event.id)
            if len(calls) == 1:
                raise WebhookRefused("not yet")
        return Answer(waiting.pk, "ask")

    provider.script["answers"] = first_stumbles
    results = race([lambda: webhooks.take(PAY, event())] * 2)

    assert sorted(type(one).__name__ for one in results) == ["Outcome", "WebhookRefused"]
    assert Outcome.ACCEPTED in results
    assert ReceivedWebhook.objects.count() == 1
