"""Which alerts have one cause, and what becomes of its incident."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from msgspec import structs

from workers.definitions.alert_kinds import alert_kind, alert_kinds
from workers.desk.rules.incidents import (
    AlertFacts,
    IncidentRow,
    cause_of,
    general,
    named_after,
    refreshed,
)
from workers.desk.texts import alert_texts
from workers.protocol.faults import FaultRecord
from workers.rules.masks import Mask

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FAULT = FaultRecord("permanent", "http_400", "POST /charge: answered 400")
FAILED = AlertFacts(
    code="process_error",
    cause="process_error:process:7:charge",
    params={"subject": "Order 7", "step": "charge", "reason": "POST /charge: answered 400"},
    subject="Order 7",
    workflow="fulfilment",
    step="charge",
    agent="payment.charge",
    fault=FAULT,
)


def key(alert: AlertFacts) -> str:
    return cause_of(alert).key


def test_orders_that_fail_alike_have_one_cause():
    other = replace(FAILED, cause="process_error:process:8:charge", subject="Order 8")
    assert cause_of(other) == cause_of(FAILED)
    assert cause_of(FAILED).params == {
        "workflow": "fulfilment",
        "step": "charge",
        "agent": "payment.charge",
        "fault": "permanent",
        "fault_code": "http_400",
        "message": "POST /charge: answered 400",
    }


@pytest.mark.parametrize(
    "change",
    [
        {"workflow": "returns"},
        {"step": "book"},
        {"agent": "courier.book"},
        {"code": "undo_stuck"},
        {"fault": structs.replace(FAULT, kind="transient")},
        {"fault": structs.replace(FAULT, code="http_422")},
        {"fault": structs.replace(FAULT, message="POST /charge: unknown currency")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_workflow_step_agent_code_or_fault_is_another_cause(change):
    assert key(replace(FAILED, **change)) != key(FAILED)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("order 412 of 3", "order # of #"),
        ("charge ch_1Nq8x is gone", "charge # is gone"),
        ("key 0b9c6a2e-7a54-4a0e-9d5e-1f1d2c3b4a5f used", "key # used"),
        ("SKU-001, SKU-002, SKU-003 are out", "# are out"),
        ("ada@example.org is refused", "# is refused"),
        ("<ada@example.org> is refused", "<#> is refused"),
        ("10.0.0.7:8443: not reached", "#: not reached"),
        ("answered in 12.5 s", "answered in # s"),
        ("HTTP 503, retry after 17", "HTTP 503, retry after #"),
        ("answered 4000", "answered #"),
        ("its worker died: signal 9 (SIGKILL)", "its worker died: signal 9 (SIGKILL)"),
        ("its worker died: exitcode 3", "its worker died: exitcode 3"),
        ("signal 4711 of order 12", "signal # of order #"),
        ("must have 65536 bytes at most, got 70012", "must have 65536 bytes at most, got #"),
        ("nothing of its own", "nothing of its own"),
        ("", ""),
    ],
)
def test_what_is_one_order_s_own_is_taken_out(message, text):
    assert general(message) == text
    assert general(general(message)) == text


def test_a_message_is_kept_short():
    assert len(general("word " * 1000)) <= 300


def test_a_step_without_a_fault_is_told_by_what_the_alert_was_raised_with():
    silent = replace(FAILED, fault=None, params={"subject": "Order 7", "reason": "no answer"})
    again = replace(silent, subject="Order 8", params={**silent.params, "subject": "Order 8"})
    assert key(silent) == key(again)
    assert cause_of(silent).params["message"] == "no answer"
    late = replace(silent, params={"subject": "Order 7", "says": ["goes_on"]})
    assert key(late) != key(replace(late, params={"subject": "Order 7", "says": ["undone"]}))


def test_an_alert_of_a_version_before_is_told_by_its_message():
    silent = replace(
        FAILED, fault=None, params=None, message="Order 7: step charge failed: no answer"
    )
    again = replace(silent, subject="Order 8", message="Order 8: step charge failed: no answer")
    assert key(silent) == key(again)
    assert cause_of(silent).params["message"] == "step charge failed: no answer"


@pytest.mark.parametrize(
    ("code", "cause", "about"),
    [
        ("breaker_open", "breaker_open:agent:payment.charge", "payment.charge"),
        ("unknown_definition", "unknown_definition:workflow:race:2", "workflow:race:2"),
        ("unknown_definition", "unknown_definition:agent:x.y", "x.y"),
        ("sink_undeliverable", "sink_undeliverable:client:acme:0f3a", "client:acme"),
        ("dead_letters_full", "dead_letters_full:acme", "acme"),
    ],
)
def test_alert_without_process_is_titled_by_its_cause(code, cause, about):
    alert = AlertFacts(code, cause, {"text": "the first words"})
    assert cause_of(alert).params["about"] == about
    assert key(alert) != key(replace(alert, cause=f"{code}:of:another:one"))


def test_a_worker_that_dies_in_the_same_way_is_one_cause_in_whichever_attempts():
    def of(said: str) -> AlertFacts:
        fault = FaultRecord("expired", "worker_died", f"its worker died{said}: signal 9 (SIGKILL)")
        return replace(FAILED, fault=fault)

    ways = ["", " in each of 3 attempts", " in the last 2 attempts"]
    assert len({key(of(said)) for said in ways}) == 1
    assert cause_of(of(ways[1])).params["message"] == "its worker died: signal 9 (SIGKILL)"
    other = FaultRecord("expired", "worker_died", "its worker died: signal 11 (SIGSEGV)")
    assert key(replace(FAILED, fault=other)) != key(of(""))
    # What a service says of itself is as it was said.
    theirs = structs.replace(FAULT, message="a worker died in the last 2 attempts: signal 9")
    assert "in the last # attempts" in cause_of(replace(FAILED, fault=theirs)).params["message"]


def test_an_incident_keeps_what_its_alert_says_unless_that_is_of_a_process_or_a_mere_text():
    said = {"says": ["late", "unasked"], "duty": "sweep"}
    assert cause_of(AlertFacts("duty_overdue", "duty_overdue:sweep", said)).params["said"] == said
    text = AlertFacts("of_an_app", "of_an_app:3", {"text": "Ada Lovelace called"})
    assert "said" not in cause_of(text).params
    place = {"says": ["nobody"], "place": "https://hooks.example/secret"}
    sink = AlertFacts("sink_undeliverable", "sink_undeliverable:client:acme:0f3a", place)
    assert "said" not in cause_of(sink).params
    assert "said" not in cause_of(FAILED).params


def test_how_long_a_named_cause_lasts_is_no_difference():
    alert = AlertFacts("breaker_open", "breaker_open:agent:a", {"opened_at": "noon"})
    assert key(alert) == key(replace(alert, params={"opened_at": "midnight"}))


def test_duties_that_are_late_together_have_one_cause():
    sweep, poll = (
        AlertFacts("duty_overdue", f"duty_overdue:{duty}", {"says": ["late", "unasked"]})
        for duty in ("sweep", "poll")
    )
    assert key(sweep) == key(poll)
    named = named_after(cause_of(poll).params, ["sweep", "poll", "sweep"])
    assert alert_texts.title("duty_overdue", named) == "Periodic duties are late: poll, sweep"


def test_two_addresses_of_one_owner_have_one_cause():
    alert = AlertFacts("sink_undeliverable", "sink_undeliverable:client:acme:0f3a", {})
    assert key(alert) == key(replace(alert, cause="sink_undeliverable:client:acme:77aa"))


def test_customer_name_is_masked_and_does_not_split_incidents():
    def of(name: str) -> AlertFacts:
        fault = structs.replace(FAULT, message=f"no account of {name}, {name}@example.org")
        mask = Mask(["customer.name"], [{"customer": {"name": name}}])
        return replace(FAILED, fault=fault, mask=mask)

    assert key(of("Ada Lovelace")) == key(of("Zoë"))
    assert cause_of(of("Ada Lovelace")).params["message"] == "no account of #"


def test_a_key_can_be_typed_in_a_terminal():
    assert cause_of(FAILED).key.startswith("process_error-")
    assert set(cause_of(FAILED).key) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")


def test_each_kind_puts_its_title_into_words_whatever_is_missing():
    for kind in alert_kinds():
        assert alert_texts.title(kind.code, {})
    assert alert_texts.title("process_error", cause_of(FAILED).params) == (
        "charge of fulfilment fails for good: POST /charge: answered 400 (permanent, http_400)"
    )
    assert alert_texts.title("of_an_app", {"message": "Look"}) == "of_an_app: Look"


def test_a_fault_s_code_is_not_said_twice():
    params = {"step": "charge", "workflow": "shop", "message": "no reply"}
    title = alert_texts.title(
        "process_error", {**params, "fault": "expired", "fault_code": "expired"}
    )
    assert title == "charge of shop fails for good: no reply (expired)"


FOUND = {
    "says": ["found"],
    "probe": "queues.are_read",
    "finding": {"text": "nobody reads the queue %(name)s", "params": {"name": "sas.agents"}},
    "why": "No service is called.",
    "remedy": {"text": "Start a worker with -Q %(name)s.", "params": {"name": "sas.agents"}},
}


def of_probe(params: dict | None) -> dict:
    return cause_of(AlertFacts("probe_failed", "probe_failed:queues.are_read", params)).params


def test_what_a_probe_has_found_is_the_title_and_its_remedy_what_to_do():
    params = of_probe(FOUND)
    assert alert_texts.title("probe_failed", params) == (
        "The doctor finds an error: nobody reads the queue sas.agents"
    )
    assert alert_texts.newest_message("probe_failed", params) == (
        "queues.are_read: nobody reads the queue sas.agents. No service is called."
    )
    assert alert_texts.remedy("probe_failed", params) == "Start a worker with -Q sas.agents."


def test_one_of_a_version_before_is_told_by_its_name():
    params = of_probe({"probe": "a.b", "finding": "no paper"})
    assert (
        alert_texts.title("probe_failed", params)
        == "The doctor's probe queues.are_read finds an error"
    )
    assert alert_texts.remedy("probe_failed", params) == alert_kind("probe_failed").remedy


LATE, UNDONE = "Periodic duties are late: sweep", "No worker performs the periodic duties: sweep"


@pytest.mark.parametrize(
    ("says", "title", "remedy", "next_act"),
    [
        (["late", "unasked", "triggered"], LATE, "Start Celery Beat,", "a worker"),
        (["late", "unread", "watched"], UNDONE, "Beat is running:", ""),
        (["late", "stuck", "watched"], UNDONE, "Check the database.", ""),
        (["never", "watched"], UNDONE, "Start the workers", ""),
        (["ahead", "triggered"], LATE, "Check the time service", "a worker"),
        (["late", "no_broker", "triggered"], LATE, "Check the broker.", "a work"),
        ([], LATE, "", ""),
    ],
)
def test_a_late_duty_says_the_one_remedy_and_the_next_act_that_are_true(
    says, title, remedy, next_act
):
    params = cause_of(AlertFacts("duty_overdue", "duty_overdue:sweep", {"says": says})).params
    assert alert_texts.title("duty_overdue", params) == title
    assert alert_texts.remedy("duty_overdue", params).startswith(remedy)
    assert alert_texts.remedy("duty_overdue", params).count(". ") <= 1
    assert alert_texts.goes_on("duty_overdue", params).startswith(next_act)
    assert bool(alert_texts.goes_on("duty_overdue", params)) == bool(next_act)


def test_incident_title_names_missing_workflow_version_or_agent():
    def title(params: dict, cause: str) -> str:
        alert = AlertFacts("unknown_definition", f"unknown_definition:{cause}", params)
        return alert_texts.title("unknown_definition", cause_of(alert).params)

    of_workflow = {"says": ["workflow"], "name": "shop", "version": 3}
    assert title(of_workflow, "workflow:shop:3").endswith("has: workflow shop, version 3")
    assert title({"says": ["agent"], "name": "x.y"}, "agent:x.y").endswith("has: agent x.y")
    assert title({}, "agent:x.y").endswith("has: x.y")


OPEN = IncidentRow(1, "open", members=3, money=Decimal("9.00"))


def test_an_incident_follows_the_count_of_its_members():
    assert refreshed(OPEN, 2, Decimal("6.00"), NOW) == replace(
        OPEN, members=2, money=Decimal("6.00")
    )
    assert refreshed(OPEN, 3, Decimal("9.00"), NOW) == OPEN


@pytest.mark.parametrize("state", ["open", "acknowledged", "snoozed"])
def test_without_a_member_it_is_resolved(state):
    row = replace(OPEN, state=state, snooze_until=NOW if state == "snoozed" else None)
    assert refreshed(row, 0, None, NOW) == IncidentRow(1, "resolved", 0, None, None, NOW)


def test_it_is_open_again_once_it_was_put_off_long_enough():
    snoozed = replace(OPEN, state="snoozed", snooze_until=NOW)
    assert refreshed(snoozed, 3, OPEN.money, NOW - timedelta(seconds=1)) == snoozed
    assert refreshed(snoozed, 3, OPEN.money, NOW) == OPEN
