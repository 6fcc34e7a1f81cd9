"""The page of a process with many steps: in parts, and for work that grows with the steps only."""

import cProfile
import pstats
from typing import Any

import pytest

from tests.admin import toys
from tests.admin.conftest import staff
from tests.factories import ProcessFactory, StepFactory
from workers.desk.admin import panel, snapshot
from workers.desk.admin.actions import VERBS
from workers.desk.admin.actions.action import Target
from workers.exceptions import StateError
from workers.models import Process, Step
from workers.rules import compensation
from workers.store.db import dialect


def chain(length: int) -> Process:
    """A process of steps in a row, half of them processed, with an undo each."""
    process = ProcessFactory()
    at = length // 2
    for position in range(length):
        columns: dict[str, Any] = {"processed": True, "may_have_effect": True}
        if position >= at:
            columns = {"pending": True} if position == at else {}
        StepFactory(
            process=process,
            name=f"step{position}",
            position=position,
            after=[f"step{position - 1}"] if position else [],
            undo={"name": f"undo{position}", "agent": "payment.refund"},
            **columns,
        )
    return process


def url(process: Process, query: str = "") -> str:
    return f"/admin/workers/process/{process.pk}/change/{query}"


def test_a_long_process_is_shown_in_parts_around_what_goes_on(operator):
    process = chain(2 * panel.STEPS_SHOWN + 10)

    html = operator.get(url(process)).content.decode()
    assert "Steps 101 to 200 of 210." in html
    assert f"begin-again/step{panel.STEPS_SHOWN}/" in html
    assert "begin-again/step1/" not in html

    first = operator.get(url(process, "?steps=0")).content.decode()
    assert "Steps 1 to 100 of 210." in first
    assert "begin-again/step1/" in first
    assert "Earlier steps" not in first
    # The poll shows the same part.
    assert f"/admin/workers/process/{process.pk}/live/?steps=0" in first
    last = operator.get(url(process, "?steps=999999")).content.decode()
    assert "Steps 201 to 210 of 210." in last
    assert "Later steps" not in last


def test_a_short_process_is_shown_whole(operator):
    assert "of 6." not in operator.get(url(chain(6))).content.decode()


@pytest.mark.volume
def test_work_grows_with_the_steps_and_not_with_their_square():
    client = staff("ann", *(verb.permission.removeprefix("workers.") for verb in VERBS))

    def calls(process: Process, query: str) -> int:
        client.get(url(process))
        profile = cProfile.Profile()
        profile.runcall(client.get, url(process, query))
        return pstats.Stats(profile).total_calls  # type: ignore[attr-defined, no-any-return]

    few, many = chain(120), chain(480)
    # The same part of both: what differs is how many steps there are beside it.
    assert calls(many, "?steps=0") < 4 * calls(few, "?steps=0")


MAKERS = [toys.asked, toys.failed, toys.resting, toys.paused]


@pytest.mark.parametrize("make", MAKERS, ids=[make.__name__ for make in MAKERS])
def test_a_check_refuses_what_the_preview_refuses(make, wire):
    process = snapshot.with_steps(Process.objects.all()).get(pk=make(wire).pk)
    whole = Target.of(process, dialect.read_clock())
    targets = [whole.at(step.name) for step in process.steps.all()]

    for verb in VERBS:
        for target in targets if verb.is_of_step else [whole]:
            assert target is not None
            assert verb.refusal(target) == previewed(verb, target), (verb.name, target.step)


@pytest.mark.parametrize("make", MAKERS, ids=[make.__name__ for make in MAKERS])
def test_trying_a_verb_out_leaves_nothing_behind(make, wire):
    process = snapshot.with_steps(Process.objects.all()).get(pk=make(wire).pk)
    whole = Target.of(process, dialect.read_clock())
    fresh = Target.of(process, dialect.read_clock()).rehearsal.stage()

    for verb in VERBS:
        for step in process.steps.all():
            target = whole.at(step.name) if verb.is_of_step else whole
            assert target is not None
            previewed(verb, target)
            again = target.rehearsal.stage()
            assert (again.process, again.steps) == (fresh.process, fresh.steps), verb.name


def previewed(verb: Any, target: Target) -> str:
    try:
        verb.preview(target)
    except StateError as error:
        return str(error)
    return ""


def test_steps_after_a_step_are_told_near_ones_first():
    process = ProcessFactory()
    graph = {"a": [], "b": ["a"], "c": ["a"], "d": ["b"], "e": ["c", "d"], "f": ["a", "e"]}
    for position, (name, after) in enumerate(graph.items()):
        StepFactory(process=process, name=name, position=position, after=after)
    assert Step.objects.filter(process=process).count() == 6
    read = snapshot.with_steps(Process.objects.all()).get(pk=process.pk)
    locked = Target.of(read, dialect.read_clock()).rehearsal.stage()

    def after(name: str) -> list[str]:
        return [step.name for step in compensation.successors(locked, locked.named(name))]

    assert after("a") == ["b", "c", "f", "d", "e"]
    assert after("c") == ["e", "f"]
    assert after("f") == []
