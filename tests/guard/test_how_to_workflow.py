"""The how-to pages' code is run as the pages have it: workflows, agents, callbacks and tasks."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import Permission
from django.test import RequestFactory

from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.workflow import Workflow, step
from workers.exceptions import Refused, Transient
from workers.models import Process, Step
from workers.supervisor import beat_schedule
from workers.testing import Wire, wired

pytestmark = pytest.mark.django_db

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
#: What a declaration of four steps with agents and undos may take.
MOST_LINES = 40

#: (path, payload) of every call that left, in order.
Posts = list[tuple[str, dict[str, Any]]]


def snippets(page: str) -> list[str]:
    text = (HOW_TO / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run(page: str, *places: int) -> dict[str, Any]:
    """Run a page's snippets, all or those at ``places``; return what they defined."""
    found = snippets(page)
    names: dict[str, Any] = {"__name__": f"how_to_{page.replace('-', '_')}"}
    for place in places or range(len(found)):
        exec(compile(found[place], f"{page}.md", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    """Forget afterwards what the pages have registered."""
    registry.discover()
    before = dict(registry._agents), dict(registry._workflows)
    yield
    for known, was in zip((registry._agents, registry._workflows), before, strict=True):
        known.clear()
        known.update(was)


@pytest.fixture
def wire() -> Iterator[Wire]:
    with wired() as wire:
        yield wire


def post_to(posts: Posts, answer: Callable[[str], dict[str, Any]] = lambda path: {}) -> Any:
    """Return what stands in for the HTTP client, so that nothing leaves."""

    def post(url: str, *, json: dict[str, Any], **options: Any) -> Any:
        path = urlsplit(url).path
        posts.append((path, json))
        return SimpleNamespace(body=answer(path))

    return post


def test_four_steps_with_agents_and_undos_take_forty_lines_at_most():
    declared = snippets("add-a-workflow")[0].strip().splitlines()
    assert len(declared) <= MOST_LINES
    run("add-a-workflow", 0)
    steps = registry.workflow("trip").steps
    assert len(steps) == 4
    assert all(spec.undo is not None for spec in steps)


def test_the_declared_trip_is_made(wire):
    posts: Posts = []
    page = run("add-a-workflow")
    page["post"] = post_to(posts)
    beat_schedule.ensure_flow()
    process = page["book"](7, "310.00", "ann")
    wire.run_until_idle()

    assert page["where"](process) == ("processed", "Everything is done.")
    assert {path for path, _ in posts[:2]} == {"/flight.book", "/hotel.book"}
    assert [path for path, _ in posts[2:]] == ["/card.charge", "/tickets.send"]
    assert posts[2][1] == {"trip": 7, "amount": "310.00"}


def test_a_declined_card_gives_flight_and_hotel_back(wire):
    def answer(path: str) -> dict[str, Any]:
        if path == "/card.charge":
            raise Refused("declined", "the card was declined")
        return {}

    posts: Posts = []
    page = run("add-a-workflow")
    page["post"] = post_to(posts, answer)
    beat_schedule.ensure_flow()
    process = page["book"](7, "310.00", "ann")
    wire.run_until_idle()

    assert page["where"](process)[0] == "compensated"
    assert {path for path, _ in posts[3:]} == {"/flight.cancel", "/hotel.cancel"}
    assert len(posts) == 5


def test_the_trip_is_cancelled_from_code(wire):
    page = run("add-a-workflow")
    process = page["book"](7, "310.00", "ann")
    assert page["cancel"](process, "ann").undo == ()
    assert Process.objects.get(pk=process.pk).state == "cancelled"


def waiting_for(wire: Wire, agent: str, step_name: str, **input_: Any) -> Process:
    registry.register_workflow(Workflow("how_to", 1, (step(step_name, agent),)))
    beat_schedule.ensure_flow()
    process = submit("how_to", subject="Book 7", input=input_)
    wire.run_until_idle()
    assert wire.states(process) == {step_name: "processing"}
    return process


@pytest.mark.parametrize(
    ("told", "status", "state"),
    [
        ({"is_printed": True, "sheets": 12}, 200, "processed"),
        ({"is_printed": False, "why": "no cover"}, 200, "error"),
        ({"is_printed": True}, 400, "processing"),
        ({"is_printed": True, "sheets": 1, "token": "forged"}, 410, "processing"),
    ],
    ids=["printed", "unprintable", "incomplete", "forged"],
)
def test_the_callback_s_view_ends_the_step(wire, told, status, state):
    posts: Posts = []
    page = run("wait-for-an-answer")
    page["post"] = post_to(posts)
    process = waiting_for(wire, "press.print", "print", book=7)
    body = {"token": posts[0][1]["token"], **told}
    request = RequestFactory().post("/", json.dumps(body), content_type="application/json")

    assert page["printed"](request).status_code == status
    assert wire.states(process) == {"print": state}


def test_the_event_ends_its_step(wire):
    page = run("wait-for-an-answer")
    process = waiting_for(wire, "driver.await", "pickup")
    page["picked_up"](process.pk, "Bo")
    assert Step.objects.get(process=process).result == {"driver": "Bo"}


def test_the_question_is_asked_with_a_permission_that_exists(wire):
    run("have-a-person-approve")
    process = waiting_for(wire, "credit.ask", "credit", amount="1200.00")
    asked = Step.objects.get(process=process).deferral
    assert asked["question"] == "Give Book 7 credit for 1200.00?"
    codename = asked["permission"].partition(".")[2]
    assert Permission.objects.filter(codename=codename).exists()


def test_the_task_is_a_step(wire):
    run("use-a-celery-task")
    beat_schedule.ensure_flow()
    process = submit("report", subject="Report", input={"month": "2026-11"})
    wire.run_until_idle()
    assert Step.objects.get(process=process).result == {"returned": "reports/2026-11.pdf"}


def test_lane_and_priority_are_taken():
    run("add-a-workflow", 0)
    accept = run("tune-the-flow")["accept"]
    usual, express = accept(1, "ann", False), accept(2, "bo", True)
    assert express.turn < usual.turn
    assert usual.lane == "ann"


def test_the_bank_is_asked_before_a_second_transfer(wire):
    def answer(path: str) -> dict[str, Any]:
        if path == "/transfers":
            raise Transient("http_500", "oops")
        return {"transfer": "t-1"}

    posts: Posts = []
    found = next(text for text in snippets("write-an-agent") if "QUERYABLE" in text)
    page: dict[str, Any] = {"__name__": "how_to_write_an_agent"}
    exec(compile(found, "write-an-agent.md", "exec"), page)
    page["post"] = post_to(posts, answer)
    registry.register_workflow(
        Workflow("how_to", 1, (step("pay", "bank.transfer", backoff_base_seconds=0),))
    )
    beat_schedule.ensure_flow()
    process = submit("how_to", subject="Pay", input={"amount": "5.00"})
    wire.run_until_idle()
    Step.objects.filter(process=process).update(not_before=process.created_at - timedelta(days=1))
    wire.run_until_idle()

    assert [path for path, _ in posts] == ["/transfers", "/transfers/find"]
    assert wire.states(process) == {"pay": "processed"}
