"""The page on lists: its code is run, and does what the page says."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from workers import Permanent, Refused, cancel, submit
from workers.definitions import registry
from workers.models import Process, Step
from workers.supervisor import beat_schedule
from workers.testing import always, assert_invariants, scripted

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "run-a-list.md"
#: The page's agents, and the toys that stand for them.
AGENTS = {
    "media.render": "toy.alpha",
    "media.check": "toy.beta",
    "media.delete": "toy.undoer",
    "media.split": "toy.delta",
    "media.zip": "toy.gamma",
    "media.announce": "toy.quiet",
}


@pytest.fixture
def page(db, monkeypatch) -> dict[str, Any]:
    monkeypatch.setattr(registry, "_workflows", dict(registry._workflows))
    names: dict[str, Any] = {}
    text = PAGE.read_text()
    for name, toy in AGENTS.items():
        text = text.replace(name, toy)
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(block, names)
    beat_schedule.ensure_flow()
    return names


def agents(refused=()):
    def render(call):
        if call.payload["number"] in refused:
            raise Refused("broken", "the file is broken")
        return {"url": f"/{call.payload['number']}"}

    files = [{"number": number} for number in range(100)]
    return scripted(
        {
            "toy.alpha": [always(render)],
            "toy.delta": [always(lambda call: {"files": files})],
        }
    )


def test_two_of_a_hundred_files_may_fail_and_the_rest_are_read(page, wire, clock):
    process = submit("render_film", subject="Film", input={})
    with agents(refused=(7, 70)):
        wire.run_until_settled(clock)

    result = Step.objects.get(process=process, name="files").result
    assert (result["processed"], result["failed"]) == (98, 2)
    assert len(page["rendered"](result["group"])) == 98
    assert page["rendered"](result["group"])[7] == "/8"


def test_a_third_fails_the_step(page, wire, clock):
    process = submit("render_film", subject="Film", input={})
    with agents(refused=(1, 2, 3)):
        wire.run_until_settled(clock)

    step = Step.objects.get(process=process, name="files")
    assert (step.state, step.fault["code"]) == ("error", "children_failed")


def test_a_season_that_is_cancelled_leaves_nothing(page, wire, clock):
    process = submit("render_season", subject="Season", input={"films": ["a", "b", "c"]})
    with agents():
        wire.run_until_idle()
        state = Process.objects.get(pk=process.pk).state
        assert state == "processed"
        other = submit("render_season", subject="Other", input={"films": ["a", "b", "c"]})
        with scripted({"toy.quiet": [always(_broken)]}):
            wire.run_until_settled(clock)
        cancel(other.pk, actor="operator:ann", reason="not wanted")
        wire.run_until_settled(clock)

    films = Process.objects.filter(subject__startswith="Other/")
    assert Counter(films.values_list("state", flat=True)) == {"compensated": 303}
    assert_invariants()


def _broken(call):
    raise Permanent("broken", "it is broken")
