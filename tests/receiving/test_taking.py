"""A genuine webhook answers its step once, whenever it comes, or changes nothing at all."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from tests.guard.test_query_plans import each_plan_of
from tests.integration.conftest import only, reread
from tests.receiving.conftest import OTHER, SECRET, answer, defer, event
from tests.toyflow import agents as toy
from tests.toyflow import webhooks as provider
from tests.toyflow.webhooks import BANK, PAY
from workers.client import operations, webhooks
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.webhook_provider import Answer, Event, Provider
from workers.exceptions import NoSecret, Permanent, Refused, WebhookRefused, WorkflowError
from workers.models import Journal, Process, ReceivedWebhook, Step
from workers.operate import retention
from workers.ops import invariants
from workers.protocol.webhook_verification import Signed
from workers.rules.external_answers import Outcome
from workers.states import ProcessState
from workers.store import old_rows
from workers.supervisor import beat_schedule
from workers.wire import dispatch

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def everything() -> list[list[Any]]:
    """Return all rows that a webhook might change."""
    tables: tuple[Any, ...] = (Process, Step, Journal, ReceivedWebhook, Group)
    return [list(table.objects.order_by("pk").values()) for table in tables]


def test_its_result_ends_the_step_and_the_process_goes_on(waiting, wire):
    assert webhooks.take(PAY, event(paid="18.50")) == Outcome.ACCEPTED
    wire.run_until_idle()

    assert only(waiting, "ask").result == {"paid": "18.50"}
    assert wire.states(waiting)["then"] == "processed"
    assert ReceivedWebhook.objects.values_list("provider", "message_id").get() == (
        "toy-pay",
        "msg_1",
    )
    rows = Journal.objects.filter(step__name="ask", actor="webhook:toy-pay")
    assert [row.event for row in rows] == ["processed"]
    assert invariants.violations() == []


def test_a_repeated_one_has_no_second_effect(waiting):
    webhooks.take(PAY, event(paid="18.50"))
    before = everything()

    asked: list[Event] = []
    provider.script["answers"] = asked.append
    assert webhooks.take(PAY, event(paid="0.01")) == Outcome.REPEATED
    assert everything() == before
    assert asked == []


def test_a_scheduler_is_asked_to_look_where_there_is_something_to_see(waiting, monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(dispatch, "wake_scheduler_later", lambda: asked.append("nudge"))
    assert webhooks.take(PAY, event("msg_1")) == Outcome.ACCEPTED
    assert asked == ["nudge"]
    webhooks.take(PAY, event("msg_1"))
    webhooks.take(PAY, event("msg_2"))
    assert asked == ["nudge"]


def test_the_same_id_of_another_provider_is_another(waiting):
    webhooks.take(BANK, event())
    assert webhooks.take(PAY, event()) == Outcome.REPEATED  # by the step: it has its answer
    assert ReceivedWebhook.objects.count() == 2


def test_one_that_comes_early_waits_for_the_step(early, wire):
    answer(early)
    assert webhooks.take(PAY, event(paid="18.50")) == Outcome.KEPT
    assert only(early, "ask").early == {"result": {"paid": "18.50"}}

    wire.run_until_idle()
    assert only(early, "ask").result == {"paid": "18.50"}
    assert set(wire.states(early).values()) == {"processed"}


def test_webhook_for_answered_step_changes_nothing_and_counts_as_repeated(waiting):
    webhooks.take(PAY, event("msg_1", paid="18.50"))
    steps = list(Step.objects.values())
    journal = Journal.objects.count()

    assert webhooks.take(PAY, event("msg_2", paid="0.01")) == Outcome.REPEATED
    assert list(Step.objects.values()) == steps
    assert Journal.objects.count() == journal


def test_webhook_for_step_of_cancelled_process_is_ignored(wire):
    beat_schedule.ensure_flow()
    toy.script["toy.quiet"] = defer
    process = submit("toy_event", subject="Toy 2", input={})
    wire.run_until_idle()
    operations.undo(process.pk, outcome=ProcessState.CANCELLED, actor="ann", reason="no")
    answer(process, "arrives")
    steps = list(Step.objects.values())

    assert webhooks.take(PAY, event(paid="18.50")) == Outcome.IGNORED
    assert list(Step.objects.values()) == steps


def test_a_refusal_undoes_the_process(waiting, wire):
    refused = Refused("declined", "the card was declined")
    provider.script["answers"] = lambda event: Answer(waiting.pk, "ask", fault=refused)
    assert webhooks.take(PAY, event()) == Outcome.ACCEPTED
    wire.run_until_idle()

    assert reread(waiting).state == "compensated"


def test_a_fault_fails_the_step(waiting):
    failed = Permanent("account_closed", "the account is closed")
    provider.script["answers"] = lambda event: Answer(waiting.pk, "ask", fault=failed)
    assert webhooks.take(PAY, event()) == Outcome.ACCEPTED
    assert only(waiting, "ask").state == "error"


def test_a_call_that_was_undone_is_not_answered_any_more(waiting):
    provider.script["answers"] = lambda event: Answer(waiting.pk, "ask", key="an earlier key")
    steps = list(Step.objects.values())
    assert webhooks.take(PAY, event("msg_1")) == Outcome.IGNORED
    assert list(Step.objects.values()) == steps

    key = only(waiting, "ask").idempotency_key
    provider.script["answers"] = lambda event: Answer(waiting.pk, "ask", key=key)
    assert webhooks.take(PAY, event("msg_2")) == Outcome.ACCEPTED


def test_webhook_that_answers_no_step_is_examined_once(waiting):
    asked: list[str] = []
    provider.script["answers"] = lambda event: asked.append(event.id)
    steps = list(Step.objects.values())

    assert webhooks.take(PAY, event()) == Outcome.IGNORED
    assert webhooks.take(PAY, event()) == Outcome.REPEATED
    assert asked == ["msg_1"]
    assert list(Step.objects.values()) == steps


def test_what_the_provider_s_function_writes_stays_with_the_answer(waiting):
    def note(event: Event) -> Answer:
        Group.objects.create(name=event.id)
        return Answer(waiting.pk, "ask")

    provider.script["answers"] = note
    webhooks.take(PAY, event())
    webhooks.take(PAY, event())
    assert Group.objects.get().name == "msg_1"


def refuse(event: Event) -> Answer:
    raise WebhookRefused("not what was asked for")


def stumble(event: Event) -> Answer:
    raise KeyError("amount")


@pytest.mark.parametrize(
    ("answers", "error", "said"),
    [
        (refuse, WebhookRefused, "not what was asked for"),
        (stumble, KeyError, "amount"),
        (lambda event: Answer(0, "ask"), WebhookRefused, "There is no process 0."),
        (
            lambda event: Answer(process(), "nap"),
            WebhookRefused,
            "Toy 1 has no step 'nap'. Its steps: ",
        ),
        (
            lambda event: Answer(process(), "ask", {"a": float("nan")}),
            WebhookRefused,
            "must be JSON",
        ),
        (lambda event: Answer(process(), "ask", {"a": "\x00"}), WebhookRefused, "NUL"),
    ],
    ids=["refused", "stumbled", "no process", "no step", "no JSON", "not storable"],
)
def test_one_that_cannot_be_taken_changes_nothing_and_may_come_again(waiting, answers, error, said):
    def write_and_answer(event: Event) -> Answer:
        Group.objects.create(name=event.id)
        return answers(event)

    provider.script["answers"] = write_and_answer
    before = everything()
    with pytest.raises(error, match=said):
        webhooks.take(PAY, event())
    assert everything() == before

    answer(waiting)
    assert webhooks.take(PAY, event()) == Outcome.ACCEPTED


def process() -> int:
    return Process.objects.get().pk


@pytest.mark.parametrize("id", ["", "x" * 201, "a\x00", "a b", "é"])
def test_an_id_that_cannot_be_remembered_is_refused(waiting, id):
    before = everything()
    with pytest.raises(WebhookRefused, match="Its id must be 1 to 200"):
        webhooks.take(PAY, event(id))
    assert everything() == before


@pytest.mark.parametrize(
    "secrets",
    [[], [""], ["whsec_"], [SECRET, ""], ["whsec_c2hvcnQ="], SECRET, ["whsec_" + "no base64!" * 4]],
    ids=str,
)
def test_without_a_secret_that_is_one_nothing_is_checked(secrets):
    provider.secrets["toy-pay"] = secrets
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(NOW.timestamp()))}
    with pytest.raises(NoSecret, match="Provider toy-pay"):
        webhooks.verify(PAY, headers, b"{}", NOW)


def test_the_secrets_are_asked_for_every_time():
    seen: list[Any] = []

    def scheme(headers: Any, body: bytes, secrets: Any, now: datetime) -> Signed:
        seen.append(list(secrets))
        return Signed(now, "msg_1")

    turning = Provider(
        "turning",
        secrets=lambda: provider.secrets["toy-pay"],
        answers=lambda event: None,
        scheme=scheme,
    )
    webhooks.verify(turning, {}, b"", NOW)
    provider.secrets["toy-pay"] = [OTHER, SECRET]
    assert webhooks.verify(turning, {}, b"", NOW) == Signed(NOW, "msg_1")
    assert seen == [[SECRET], [OTHER, SECRET]]


def taken(*ages_in_days: float) -> None:
    for place, days in enumerate(ages_in_days):
        ReceivedWebhook.objects.create(
            provider="toy-pay", message_id=f"msg_{place}", received_at=NOW - timedelta(days=days)
        )


def left() -> list[str]:
    return sorted(ReceivedWebhook.objects.values_list("message_id", flat=True))


def test_ids_are_forgotten_after_45_days_the_oldest_first():
    taken(44.99, 45.01, 47, 46, 0)
    assert old_rows.WEBHOOKS.count(NOW) == 3
    forgetting = old_rows.WEBHOOKS.prune(2, NOW)
    assert next(forgetting) == 2
    assert left() == ["msg_0", "msg_1", "msg_4"]
    assert list(forgetting) == [1]
    assert left() == ["msg_0", "msg_4"]
    assert old_rows.WEBHOOKS.count(NOW) == 0


def test_one_that_is_not_forgotten_is_not_taken_again(waiting):
    webhooks.take(PAY, event(), NOW - timedelta(days=44.99))
    assert list(old_rows.WEBHOOKS.prune(100, NOW)) == [0]
    assert webhooks.take(PAY, event(), NOW) == Outcome.REPEATED


def test_pruning_forgets_them():
    taken(46, 44)
    assert (retention.prune(now=NOW) or {})["webhooks"] == 1
    assert left() == ["msg_1"]


@pytest.mark.postgresql
def test_forgetting_uses_its_index():
    ReceivedWebhook.objects.bulk_create(
        [
            ReceivedWebhook(provider="toy-pay", message_id=f"msg_{n}", received_at=NOW)
            for n in range(3000)
        ]
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE workers_receivedwebhook")
    plans = each_plan_of(lambda: list(old_rows.WEBHOOKS.prune(10, NOW)))
    assert any("webhook_received_idx" in plan for plan in plans)


def test_a_provider_s_name_is_its_own_and_fits_its_address():
    twin = Provider("toy-pay", secrets=list, answers=lambda event: None)
    with pytest.raises(WorkflowError, match="Two providers of webhooks are called 'toy-pay'"):
        registry.register_provider(twin)
    assert registry.provider("toy-pay") is PAY
    for name in ("", "Toy", "toy/pay", "-toy", "t" * 41, "toy pay"):
        with pytest.raises(WorkflowError, match="is no name for a provider"):
            Provider(name, secrets=list, answers=lambda event: None)
