"""What a route is told of an incident counts what people mean, and says what is known."""

import json

import pytest

from tests.on_call.conftest import incident, route
from workers.client.submission import submit
from workers.desk.models import Delivery, Incident
from workers.desk.notify.encoded_messages import write
from workers.desk.store import incidents, probe_results
from workers.desk.store.deliveries import claim
from workers.desk.store.delivery_plans import plan
from workers.desk.store.probe_results import ProbeOutcome
from workers.models import LiveStep
from workers.ops.doctor import error
from workers.runtime.failpoints import durable
from workers.store import alerts
from workers.supervisor import beat_schedule


def told() -> tuple[str, dict]:
    """Tell a route by mail, and one by webhook; return the mail's text and the webhook's data."""
    route("mail")
    route("hook", "webhook")
    plan()
    by_kind = {message.kind: message for message in write(claim(9, 60)) if message}
    return by_kind["mail"].text, json.loads(by_kind["webhook"].body)["data"]


def test_message_states_number_and_worth_of_failed_processes():
    incident(members=1500, money="26700.00")
    text, data = told()
    assert "So far: 1,500 processes." in text
    assert "Worth: 26,700.00." in text
    assert (data["processes"], data["waiting"], data["money"]) == (1500, None, "26700.00")
    assert data["message"] is None


@pytest.mark.parametrize("code", ["breaker_open"])
def test_of_an_agent_it_says_how_many_steps_wait(wire, code):
    beat_schedule.ensure_flow()
    for number in range(3):
        submit("toy_line", subject=f"Toy {number}", input={})
    agent = LiveStep.objects.order_by("pk")[0].agent
    alerts.raise_alert(code, params={"agent": agent}, subject=f"agent:{agent}")
    incidents.collect()
    text, data = told()
    assert "3 steps wait." in text
    assert "process" not in text
    assert (data["processes"], data["waiting"], data["agent"]) == (None, 3, agent)


def test_message_of_probe_states_finding_consequence_and_remedy():
    found = error("nobody reads the queue sas.agents", "No service is called.", "Start a worker.")
    for _time in range(2):
        probe_results.keep([ProbeOutcome("queues.are_read", "error", [found.kept()])])
    incidents.collect()
    text, data = told()
    assert text.startswith(
        "New incident: The doctor finds an error: nobody reads the queue sas.agents\n"
    )
    assert "queues.are_read: nobody reads the queue sas.agents. No service is called." in text
    assert "What to do: Start a worker." in text
    assert "Now:" not in text
    assert "So far:" not in text
    assert (data["processes"], data["waiting"], data["remedy"]) == (None, None, "Start a worker.")
    assert data["message"].endswith("No service is called.")


def test_its_end_says_no_more_what_was_known_of_it():
    alerts.raise_alert(
        "duty_overdue", params={"says": ["late", "unasked"], "duty": "poll"}, subject="poll"
    )
    incidents.collect()
    text, _data = told()
    assert "The poll was overdue at " in text
    with durable("test"):
        alerts.resolve("duty_overdue:poll", Incident.objects.get().opened_at)
    incidents.refresh()
    Delivery.objects.all().update(state="delivered")
    plan()
    (message,) = write(claim(1, 60))
    assert message is not None
    assert message.subject.startswith("Resolved: ")
    assert "overdue" not in message.text


def test_what_one_wrote_for_the_desk_alone_is_sent_to_nobody():
    alerts.raise_alert("of_an_app", "Ada Lovelace called")
    incidents.collect()
    _text, data = told()
    assert data["message"] is None
