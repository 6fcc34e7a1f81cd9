"""Texts that no database holds, through every call of an application: refused by name, first."""

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import workers
from tests.concurrency.matrix.calls import CALLS, PROCESS, call
from tests.concurrency.matrix.scene import Scene
from workers import BadText, NewProcess, NewSink, Permanent, StateError, Workflow, step
from workers.definitions import registry
from workers.desk.models import Incident
from workers.desk.store import alert_commands, incident_commands, notes
from workers.models import Alert, Journal, Process, Sink, Step
from workers.runtime.storable_text import is_storable
from workers.store import journal, sinks
from workers.store.flow import flow_settings, holds

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
def test_a_submission(changes, text):
    wanted = NewProcess(**({"subject": "Toy", "input": {}} | changes(text)))

    with pytest.raises(BadText, match="must be text without NUL and lone surrogates"):
        workers.submit_many("toy_line", [NewProcess("Good", {}), wanted])
    assert not Process.objects.exists()


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_who_submits(text):
    with pytest.raises(BadText, match="actor must be text without NUL"):
        workers.submit("toy_line", subject="Toy", input={}, actor=text)


def test_a_subject_that_is_too_long():
    with pytest.raises(BadText, match="subject must have 200 characters at most, got 201"):
        workers.submit("toy_line", subject="s" * 201, input={})


#: These look for their row first, and say nothing of one that is not there.
OF_ROWS = {
    *("sinks.redeliver", "deliveries.resend", "deliveries.note_test"),
    *("routes.mute", "routes.delete"),
}
#: The verbs that say in the journal who acted.
BY_ACTOR = [
    *(one for one in CALLS if "actor" in one.named and one.place not in OF_ROWS),
    call(workers.complete_step, PROCESS, "one", {}, actor="ann", on=()),
    call(workers.fail_step, PROCESS, "one", Permanent("a", "b"), actor="ann", on=()),
]
BY_TEXT: dict[str, Verb] = {
    "note": lambda text: notes.write_on_incident(1, 1, text, actor="ann"),
    "comment": lambda text: incident_commands.acknowledge(1, 1, actor="ann", comment=text),
    "alert": lambda text: alert_commands.acknowledge(1, 1, text, actor="ann"),
    "hold": lambda text: holds.hold("step", text, actor="ann", reason="why"),
    "agent": lambda text: flow_settings.set_flow(text, {"window": 5}, actor="ann", reason="why"),
    "code": lambda text: workers.raise_alert(text, "message"),
    "shown": lambda text: journal.record_act("personal_shown", {"what": text}, actor="ann"),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize("call", BY_ACTOR, ids=lambda call: call.name)
def test_who_acts_and_why(process, call, text):
    before = stored()
    scene = Scene(process.pk, "one", user_id=1)

    for word in {"actor", "reason"} & set(call.named):
        with pytest.raises(BadText, match="must be text without NUL and lone surrogates"):
            call.run(scene, **{word: text})
    assert stored() == before


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize("verb", BY_TEXT.values(), ids=BY_TEXT)
def test_other_texts_of_operators(verb, text):
    with pytest.raises(BadText, match="must be text without NUL and lone surrogates"):
        verb(text)


@pytest.mark.parametrize("pk", [0, -1, 2**63, 10**30])
@pytest.mark.parametrize("verb", [workers.cancel, workers.pause])
def test_a_process_of_no_possible_number_is_none(verb, pk):
    with pytest.raises(StateError, match="no process"):
        verb(pk, actor="ann", reason="why")


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_an_alert_is_not_lost_for_its_words(text):
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
    monkeypatch, wire, function, text
):
    options: dict[str, Any] = {function: failing(text)}
    workflow = Workflow("hostile", 1, (step("a", "toy.alpha", **options),))
    monkeypatch.setitem(registry._workflows, ("hostile", 1), workflow)

    process = workers.submit("hostile", subject="Toy", input={})
    wire.run_until_idle()

    (row,) = process.steps.all()
    assert (row.state, is_storable(row.fault["message"])) == ("error", True)
    assert Alert.objects.filter(code="process_error").exists()


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_failed_delivery_is_noted(process, text):
    workers.submit("toy_line", subject="Toy", input={}, sinks=[NewSink("queue", "replies")])
    (claimed,) = sinks.claim("queue", 1, 30)

    sinks.failed(claimed, 10, {"code": "unreached", "params": {"error": text}})

    assert "\ufffd" in Sink.objects.get().problem["params"]["error"]
