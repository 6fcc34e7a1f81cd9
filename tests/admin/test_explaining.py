"""What is said of a step and of a process, whatever holds it back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.factories import step_in_memory
from workers.client import explaining
from workers.client.explaining import Codes
from workers.desk.texts import explain
from workers.models import Process
from workers.ops.wait_facts import AgentFlow, Duty, Facts, Note
from workers.rules.breaker import Breaker
from workers.rules.rate_limit import Bucket

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
ANN = Note("operator:ann", "stocktaking")
FREE = AgentFlow(window=100)
#: Nothing holds anything up.
CALM = Facts(
    flows={"payment.charge": FREE},
    poll=Duty(5, NOW - SECOND),
    sweep=Duty(2, NOW - SECOND),
    agents={"payment.charge"},
)
OPEN = Breaker(12, NOW - 600 * SECOND, NOW + 20 * SECOND)
FAULT = {"kind": "unavailable", "message": "connection refused"}


def flow(**changes: Any) -> dict[str, Any]:
    return {"flows": {"payment.charge": replace(FREE, **changes)}}


def said(facts: Any = None, *, process: dict[str, Any] | None = None, **columns: Any) -> str:
    row = step_in_memory(name="pay", agent="payment.charge", **columns)
    about = {"state": "processing", "workflow": "fulfilment", "version": 3, **(process or {})}
    return explain.step(row, Process(**about), NOW, replace(CALM, **(facts or {})), set())


#: Why a pending step waits, the first of them first: facts, columns of step and process, sentence.
REASONS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "pause": ({}, {}, {"paused_at": NOW}, "waits until the process is resumed"),
    "hold on everything": (
        {"holds": {("everything", ""): ANN}},
        {},
        {},
        "waits until operators lift the hold on everything (by operator:ann: stocktaking)",
    ),
    "no scheduler": (
        {"poll": Duty(5, NOW - 42 * SECOND)},
        {},
        {},
        "waits: no Scheduler has looked for work for 42 s: start a worker with -Q sas.scheduler,",
    ),
    "unknown workflow": (
        {"unknown": {"workflow:fulfilment:3"}},
        {},
        {},
        "waits for a worker that knows workflow fulfilment version 3: bring the code",
    ),
    "own time": (
        {},
        {"not_before": NOW + HOUR, "fault": {"message": "answered 500"}},
        {},
        "will be tried again at 13:00:00 UTC: answered 500",
    ),
    "breaker": (
        flow(breaker=OPEN),
        {},
        {},
        "waits: the service of agent payment.charge has not been reached since 11:50:00 UTC and its"
        " breaker is open; next probe at 12:00:20 UTC",
    ),
    "window of 0": (flow(window=0), {}, {}, "set the window of agent payment.charge, which is 0"),
    "full window": (
        flow(in_flight=100),
        {},
        {},
        "waits for room at agent payment.charge: 100 of 100 requests are in flight",
    ),
    "rate": (
        flow(bucket=Bucket(0.5, 0, NOW)),
        {},
        {},
        "waits for its turn: agent payment.charge takes 0.5 a second at most",
    ),
    "not in this code": ({"agents": set()}, {}, {}, "which is not in the code of this process"),
    "nothing": ({}, {}, {}, "waits for an agent process to take it"),
}


@pytest.mark.parametrize("reason", REASONS)
def test_a_pending_step(reason):
    facts, columns, process, text = REASONS[reason]
    assert text in said(facts, process=process, state="pending", **columns)


@pytest.mark.parametrize("place", range(len(REASONS) - 1))
def test_what_comes_first_is_said_of_two_reasons(place):
    """Each reason hides the next ones, as far as both can be true."""
    ours = list(REASONS.values())[place]
    for other in list(REASONS.values())[place + 1 :]:
        flows = {**other[0], **ours[0]}
        if "flows" in ours[0] and "flows" in other[0]:
            theirs, mine = (one[0]["flows"]["payment.charge"] for one in (other, ours))
            changed = {
                name: getattr(one, name)
                for one in (theirs, mine)
                for name in ("window", "in_flight", "breaker", "bucket")
                if getattr(one, name) != getattr(FREE, name)
            }
            flows |= flow(**changed)
        found = said(
            flows, process={**other[2], **ours[2]}, state="pending", **{**other[1], **ours[1]}
        )
        assert ours[3] in found


@pytest.mark.parametrize(
    ("facts", "columns", "text"),
    [
        ({"holds": {("agent", "payment.charge"): ANN}}, {}, "hold on agent payment.charge (by op"),
        ({"holds": {("step", "pay"): ANN}}, {}, "lift the hold on steps called pay (by operator"),
        ({"holds": {("agent", "other"): ANN, ("step", "other"): ANN}}, {}, "agent process to take"),
        ({"holds": {("step", "pay"): Note("cron", "")}}, {}, "(by cron: no reason was given)"),
        ({"poll": Duty(5, None)}, {}, "no Scheduler has ever looked for work: start a worker"),
        ({"poll": Duty(5, NOW - 17 * SECOND)}, {}, "waits for an agent process to take it"),
        ({"poll": Duty(60, NOW - 100 * SECOND)}, {}, "waits for an agent process to take it"),
        ({"unknown": {"agent:payment.charge"}}, {}, "knows agent payment.charge: bring the code"),
        ({"unknown": {"agent:other", "workflow:fulfilment:2"}}, {}, "agent process to take it"),
        # Handed back by who does not know it: that time is not the reason.
        ({"unknown": {"workflow:fulfilment:3"}}, {"not_before": NOW + HOUR}, "that knows workflow"),
        ({}, {"not_before": NOW + HOUR}, "will not start before 13:00:00 UTC"),
        ({}, {"not_before": NOW + 24 * HOUR}, "will not start before 2026-03-02 12:00:00 UTC"),
        ({}, {"not_before": NOW - HOUR}, "waits for an agent process to take it"),
        # Parked within the breaker's time, the breaker is the reason; beyond it, both are.
        (flow(breaker=OPEN), {"not_before": NOW + 5 * SECOND, "fault": FAULT}, "the service of ag"),
        (
            flow(breaker=OPEN),
            {"not_before": NOW + HOUR, "fault": FAULT},
            "will be tried again at 13:00:00 UTC: connection refused",
        ),
        (flow(breaker=OPEN), {"not_before": NOW + HOUR}, "will not start before 13:00:00 UTC"),
        (flow(breaker=replace(OPEN, open_until=NOW)), {}, "breaker is open; next probe: now"),
        (flow(breaker=replace(OPEN, open_until=NOW), in_flight=1), {}, "; a probe is under way"),
        (flow(breaker=replace(OPEN, forced="closed")), {}, "waits for an agent process to take it"),
        (
            flow(breaker=Breaker(forced="open")),
            {},
            "waits: operators keep the breaker of agent pay",
        ),
        (flow(bucket=Bucket(2, 0, NOW - SECOND)), {}, "waits for an agent process to take it"),
        ({"flows": {}}, {}, "has no flow row, so nothing is claimed for it: run manage.py migrate"),
        (
            {"flows": None, "poll": None, "agents": None},
            {},
            "waits for an agent process to take it",
        ),
    ],
)
def test_a_pending_step_in_particular(
    facts: dict[str, Any], columns: dict[str, Any], text: str
) -> None:
    assert text in said(facts, state="pending", **columns)


@pytest.mark.parametrize(
    ("state", "columns", "text"),
    [
        ("error", {}, "waits until the step in error is dealt with"),
        ("compensating", {}, "will not start: the process is being undone"),
        ("compensating", {"undoes_id": 1}, "waits for an agent process to take it"),
    ],
)
def test_a_pending_step_of_a_process_that_does_not_go_forward(state, columns, text):
    assert said(process={"state": state}, state="pending", **columns) == text


def test_a_step_at_work_says_until_when():
    found = said(state="processing", complete_by=NOW + 9 * SECOND, locked_by="celery@one")
    assert found == "celery@one works on it until 12:00:09 UTC"


def waiting(*settled: str, **about: Any) -> str:
    columns = {"agent": "payment.charge", "state": "waiting", **about}
    process = Process(workflow="fulfilment", version=3, state=columns.pop("of", "processing"))
    process.paused_at = columns.pop("paused_at", None)
    return explain.step(step_in_memory(name="ship", **columns), process, NOW, CALM, set(settled))


@pytest.mark.parametrize(
    ("settled", "text"),
    [
        ((), "waits for pay, pack"),
        (("pay", "other"), "waits for pack"),
        # The poll makes it ready.
        (("pay", "pack"), "waits for an agent process to take it"),
    ],
)
def test_a_waiting_step_names_what_has_not_ended(settled, text):
    assert waiting(*settled, after=["pay", "pack"]) == text


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({}, "waits for an agent process to take it"),
        ({"paused_at": NOW}, "waits until the process is resumed"),
        (
            {"undoes_id": 1, "of": "compensating"},
            "waits until the step that it undoes, and those after that, have ended",
        ),
        (
            {"undoes_id": 1, "of": "compensating", "paused_at": NOW},
            "waits until the process is resumed",
        ),
    ],
)
def test_a_waiting_step_that_nothing_is_before(columns, text):
    assert waiting(after=[], **columns) == text


@pytest.mark.parametrize(
    ("sweep", "text"),
    [
        (Duty(2, NOW), "ran out of time: the Supervisor resets it at its next sweep"),
        (Duty(2, NOW - 30 * SECOND), "ran out of time: no Supervisor has swept for 30 s: start"),
        (Duty(2, None), "ran out of time: no Supervisor has ever swept: start a worker"),
    ],
)
def test_a_claim_whose_time_is_over(sweep, text):
    assert text in said({"sweep": sweep}, state="processing", complete_by=NOW - SECOND)


@pytest.mark.parametrize(
    ("deferral", "text"),
    [
        (
            {"since": "2026-03-01T11:00:00+00:00"},
            "has been waiting for an answer since 11:00:00 UTC, due by 13:00:00 UTC",
        ),
        (
            {"since": "2026-03-01T11:00:00+00:00", "question": "paid?"},
            "11:00:00 UTC: “paid?”, due by",
        ),
        ({"since": None}, "since ?"),
        (
            {"progress": {"percent": 40}, "reported_at": "2026-03-01T11:30:00+00:00"},
            "last report at 11:30:00 UTC: percent: 40",
        ),
    ],
)
def test_a_deferred_step(deferral, text):
    assert text in said(state="processing", deferral=deferral, complete_by=NOW + HOUR)


def test_an_answer_that_did_not_come_in_time():
    found = said(state="processing", deferral={}, complete_by=NOW - HOUR)
    assert found.startswith("got no answer in time")


def headline(process: dict[str, Any], steps: list[Any], **facts: Any) -> str:
    rows = [
        (step_in_memory(name="pay", state=state, **columns), "because") for state, columns in steps
    ]
    about = Process(**{"workflow": "fulfilment", "version": 3, **process})
    return explain.headline(about, rows, NOW, replace(CALM, **facts))


@pytest.mark.parametrize(
    ("process", "columns"),
    [({"state": "error"}, {}), ({"state": "processing"}, {"on_failure": "ask"})],
)
def test_a_reason_that_ends_by_itself_ends_its_sentence_once(process, columns):
    row = step_in_memory(name="pay", state="error", **columns)
    about = Process(workflow="fulfilment", version=3, **process)
    said = explain.headline(about, [(row, "got list.")], NOW, CALM)
    assert said.endswith("pay got list.")


@pytest.mark.parametrize(
    ("process", "steps", "text"),
    [
        ({"state": "processing", "paused_at": NOW}, [], "Paused since 12:00:00 UTC: nothing"),
        (
            {"state": "processing", "deadline_at": NOW + HOUR},
            [],
            "It must end by 13:00:00 UTC, or it will be undone.",
        ),
        (
            {"state": "processing", "deadline_at": NOW + HOUR, "on_deadline": "alert"},
            [],
            "or operators are alerted.",
        ),
        (
            {"state": "processing"},
            [("error", {"on_failure": "ask"})],
            "Needs a decision: pay because.",
        ),
        ({"state": "processing"}, [], "Waits for the Scheduler to look at it."),
        (
            {"state": "processing"},
            [("pending", {}), ("processing", {})],
            "pay because; pay because.",
        ),
    ],
)
def test_a_headline(process, steps, text):
    assert text in headline(process, steps)


def test_a_headline_says_who_paused_and_why():
    found = headline({"pk": 7, "state": "processing", "paused_at": NOW}, [], pauses={7: ANN})
    assert "Paused since 12:00:00 UTC (by operator:ann: stocktaking): nothing new" in found


def test_headline_names_missing_scheduler_or_missing_worker():
    process = {"state": "processing"}
    found = headline(process, [], poll=Duty(5, NOW - 60 * SECOND))
    assert found.startswith("No Scheduler has looked for work for 60 s: start a worker")
    found = headline(process, [], unknown={"workflow:fulfilment:3"})
    assert found.startswith("Waits for a worker that knows workflow fulfilment version 3")


@pytest.mark.parametrize("state", ["processed", "cancelled", "compensating"])
def test_a_date_that_does_not_count_any_more_is_not_said(state):
    assert "must have ended" not in headline({"state": state, "deadline_at": NOW + HOUR}, [])


def test_a_step_that_was_not_needed_says_so():
    assert said(state="skipped") == "not needed"
    fault = {"kind": "permanent", "message": "no such address"}
    assert said(state="skipped", fault=fault) == "skipped: no such address"


def test_without_the_desk_codes_and_parameters_are_said():
    fault = {"code": "busy", "message": "Ann is busy"}
    pay = step_in_memory(name="pay", state="pending", failure_count=2, not_before=NOW, fault=fault)
    ship = step_in_memory(name="ship", state="waiting", after=["pay", "stock"])
    process = Process(state="processing", paused_at=NOW)
    steps = [(row, Codes().step(row, process, NOW, None, {"stock"})) for row in (pay, ship)]

    assert explaining.words() is explain
    assert Codes().headline(process, steps, NOW, None) == (
        f"processing paused_at={NOW.isoformat()}; pay: pending failure_count=2"
        f" not_before={NOW.isoformat()} fault=busy; ship: waiting after=pay"
    )
