"""The engine's main road: submitted, claimed, called, replied, settled."""

import pytest

from tests.toyflow import agents as toy
from workers.client.submission import submit
from workers.models import Journal


@pytest.fixture(autouse=True)
def flow_rows(db) -> None:
    from workers.supervisor import beat_schedule

    beat_schedule.ensure_flow()


def test_a_line_of_two_steps_runs_to_its_end(wire):
    process = submit("toy_line", subject="Toy 1", input={"colour": "red"})

    wire.run_until_idle()

    assert wire.states(process) == {"one": "processed", "two": "processed"}
    process.refresh_from_db()
    assert process.state == "processed"
    assert process.finished_at is not None
    events = list(Journal.objects.order_by("id").values_list("event", "before", "after"))
    assert events == [
        ("submitted", None, "pending"),
        ("started", "pending", "processing"),
        ("claimed", "pending", "processing"),
        ("processed", "processing", "processed"),
        ("claimed", "waiting", "processing"),
        ("processed", "processing", "processed"),
        ("processed", "processing", "processed"),
    ]
    sequences = [n for n in Journal.objects.order_by("id").values_list("sequence", flat=True) if n]
    assert sequences == list(range(1, len(sequences) + 1))
    assert process.sequence == len(sequences)


def test_a_join_waits_for_both_branches(wire):
    process = submit("toy_diamond", subject="Toy 2", input={})

    wire.run_until_idle()

    assert set(wire.states(process).values()) == {"processed"}
    assert len(toy.calls["toy.beta"]) == 2
    assert len(toy.calls["toy.alpha"]) == 2


def test_a_local_agent_s_writes_commit_with_its_reply(wire):
    from django.contrib.auth.models import Group

    process = submit("toy_local", subject="Toy 3", input={})

    wire.run_until_idle()

    assert wire.states(process) == {"write": "processed"}
    assert Group.objects.filter(name__startswith=process.uid.hex).count() == 1
    assert Journal.objects.filter(event="reply_filed").count() == 1
