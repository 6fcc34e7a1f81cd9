"""Texts that no database holds, through every call of an application: refused by name, first."""

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import workers
from workers import BadText, NewProcess, NewSink, Permanent, StateError, Workflow, step
from workers.client import operations
from workers.definitions import registry
from workers.desk.models import Route
from workers.desk.operate import jobs
from workers.desk.store import alert_commands, incident_commands, notes, routes
from workers.desk.store import jobs as stored_jobs
from workers.models import Alert, Incident, Journal, Process, Sink, Step
from workers.rules.approved_acts import Act
from workers.runtime.storable_text import is_storable
from workers.store import acts, sinks
from workers.store.flow import flow_settings, holds
from workers.store.operate import after_restore, edit_input, undo_requests
from workers.testing import Wire

pytestmark = pytest.mark.django_db

BAD = {"NUL": "a\x00b", "high surrogate": "\ud800", "low surrogate": "a\udcffb"}
Verb = Callable[..., Any]
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TOMORROW = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def process() -> Process:
    return workers.submit("toy_line", subject="Toy 1", input={"n": 1})


def stored() -> list[Any]:
    models = (Process, Step, Journal, Alert, Incident)
    return [list(model.objects.order_by("pk").values()) for model in models]


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize(
    "changes",
    [
        lambda text: {"subject": text},
        lambda text: {"lane": text},
        lambda text: {"input": {"deep": [{"a": text}]}},
        lambda text: {"input": {text: 1}},
        lambda text: {"told": [NewSink("queue", text)]},
        lambda text: {"told": [NewSink("webhook", "https://a.example", owner=text)]},
        lambda text: {"told": [NewSink("queue", "a", correlation_id=text)]},
    ],
    ids=["subject", "lane", "value", "name", "address", "owner", "correlation"],
)
def test_a_submission(changes: Callable[[str], dict[str, Any]], text: str) -> None:
    wanted = NewProcess(**({"subject": "Toy", "input": {}} | changes(text)))

    with pytest.raises(BadText, match="must be text without NUL and lone surrogates"):
        workers.submit_many("toy_line", [NewProcess("Good", {}), wanted])
    assert not Process.objects.exists()


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_who_submits(text: str) -> None:
    with pytest.raises(BadText, match="actor must be text without NUL"):
        workers.submit("toy_line", subject="Toy", input={}, actor=text)


def test_a_subject_that_is_too_long() -> None:
    with pytest.raises(BadText, match="subject must have 200 characters at most, got 201"):
        workers.submit("toy_line", subject="s" * 201, input={})


VERBS: dict[str, Verb] = {
    "cancel": workers.cancel,
    "pause": workers.pause,
    "resume": workers.resume,
    "resubmit": workers.resubmit,
    "retry": lambda pk, **word: workers.retry(pk, "one", **word),
    "skip": lambda pk, **word: operations.skip(pk, "one", **word),
    "redo": lambda pk, **word: operations.redo(pk, "one", **word),
    "retime": lambda pk, **word: operations.retime(pk, "one", 5, **word),
    "postpone": lambda pk, **word: operations.postpone(pk, "one", TOMORROW, **word),
    "begin again": lambda pk, **word: operations.begin_again(pk, "one", **word),
    "complete": lambda pk, **word: operations.complete(pk, "one", {}, **word),
    "ask to undo": lambda pk, **word: undo_requests.ask(pk, Act("cancel"), **word),
    "decide": lambda pk, **word: undo_requests.decide(1, is_approved=True, **word),
    "edit": lambda pk, **word: edit_input.edit_input(pk, {"n": 2}, **word),
    "hold": lambda pk, **word: holds.hold("everything", **word),
    "lift": lambda pk, **word: holds.lift("everything", **word),
    "set flow": lambda pk, **word: flow_settings.set_flow("toy.alpha", {"window": 5}, **word),
    "job": lambda pk, **word: jobs.start("pause", {pk: 1}, source={}, **word),
    "steer job": lambda pk, **word: stored_jobs.steer(1, "pause", **word),
    "assign": lambda pk, **word: incident_commands.assign(pk, None, **word),
    "snooze": lambda pk, **word: incident_commands.snooze(pk, NOW, **word),
    "resolve": lambda pk, **word: incident_commands.resolve(pk, 1, **word),
}
BY_ACTOR: dict[str, Verb] = {
    "complete step": lambda pk, actor: workers.complete_step(pk, "one", {}, actor=actor),
    "fail step": lambda pk, actor: workers.fail_step(pk, "one", Permanent("a", "b"), actor=actor),
    "restored": lambda pk, actor: after_restore.mark([pk], NOW, actor=actor),
    "showing": lambda pk, actor: acts.record_act(
        "personal_shown", {"what": "order 1"}, actor=actor
    ),
    "route": lambda pk, actor: routes.save(Route(name="a"), actor=actor),
    "take": lambda pk, actor: incident_commands.acknowledge(pk, 1, actor=actor),
    "note": lambda pk, actor: notes.write_on_incident(pk, 1, "a", actor=actor),
}
BY_TEXT: dict[str, Verb] = {
    "note": lambda text: notes.write_on_incident(1, 1, text, actor="ann"),
    "comment": lambda text: incident_commands.acknowledge(1, 1, actor="ann", comment=text),
    "alert": lambda text: alert_commands.acknowledge(1, 1, text, actor="ann"),
    "hold": lambda text: holds.hold("step", text, actor="ann", reason="why"),
    "agent": lambda text: flow_settings.set_flow(text, {"window": 5}, actor="ann", reason="why"),
    "code": lambda text: workers.raise_alert(text, "message"),
    "shown": lambda text: acts.record_act("personal_shown", {"what": text}, actor="ann"),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_who_acts_and_why(process: Process, verb: Verb, text: str) -> None:
    before = stored()

    for word in ({"actor": text, "reason": "why"}, {"actor": "ann", "reason": text}):
        with pytest.raises(BadText, match="must be text without NUL and lone surrogates"):
            verb(process.pk, **word)
    assert stored() == before


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize("verb", BY_ACTOR.values(), ids=BY_ACTOR)
def test_who_answers_and_marks(process: Process, verb: Verb, text: str) -> None:
    before = stored()

    with pytest.raises(BadText, match="actor must be text without NUL"):
        verb(process.pk, actor=text)
    assert stored() == before


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize("verb", BY_TEXT.values(), ids=BY_TEXT)
def test_other_texts_of_operators(verb: Verb, text: str) -> None:
    with pytest.raises(BadText, match="must be text without NUL and lone surrogates"):
        verb(text)


@pytest.mark.parametrize("pk", [0, -1, 2**63, 10**30])
@pytest.mark.parametrize("verb", [workers.cancel, workers.pause])
def test_a_process_of_no_possible_number_is_none(verb: Verb, pk: int) -> None:
    with pytest.raises(StateError, match="no process"):
        verb(pk, actor="ann", reason="why")


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_an_alert_is_not_lost_for_its_words(text: str) -> None:
    workers.raise_alert("toy", f"It said {text}.", subject=text)

    alert = Alert.objects.get()
    assert "\ufffd" in alert.params["text"]
    assert "\ufffd" in alert.cause


@pytest.fixture
def nothing_is_logged() -> Iterator[None]:
    """Log nothing: pytest's own workers cannot report a traceback that holds such a text.

    By the function of its module, for every logger remembers whether it may say something.
    """
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def failing(text: str) -> Callable[..., Any]:
    def fail(*facts: Any) -> Any:
        raise ValueError(text)

    return fail


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize("function", ["when", "request"])
@pytest.mark.usefixtures("nothing_is_logged")
def test_a_function_of_a_workflow_that_raises_them_puts_its_step_in_error(
    monkeypatch: pytest.MonkeyPatch, wire: Wire, function: str, text: str
) -> None:
    options: dict[str, Any] = {function: failing(text)}
    workflow = Workflow("hostile", 1, (step("a", "toy.alpha", **options),))
    monkeypatch.setitem(registry._workflows, ("hostile", 1), workflow)

    process = workers.submit("hostile", subject="Toy", input={})
    wire.run_until_idle()

    (row,) = process.steps.all()
    assert (row.state, is_storable(row.fault["message"])) == ("error", True)
    assert Alert.objects.filter(code="process_error").exists()


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_failed_delivery_is_noted(process: Process, text: str) -> None:
    workers.submit("toy_line", subject="Toy", input={}, sinks=[NewSink("queue", "replies")])
    (claimed,) = sinks.claim("queue", 1, 30)

    sinks.failed(claimed, 10, {"code": "unreached", "params": {"error": text}})

    assert "\ufffd" in Sink.objects.get().problem["params"]["error"]
