"""The code on README.md's first screen is run as printed, and does what is said below it."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import workers
from workers.definitions import registry
from workers.exceptions import Permanent
from workers.models import Process
from workers.supervisor import beat_schedule
from workers.testing import Wire, wired

pytestmark = pytest.mark.django_db

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
#: A first screen, and a first page.
MOST_CODE_LINES, MOST_LINES = 18, 200


@pytest.fixture
def wire() -> Iterator[Wire]:
    """Yield a wire, and forget afterwards what the page has registered."""
    before = dict(registry._agents), dict(registry._workflows)
    with wired() as wire:
        yield wire
    for known, was in zip((registry._agents, registry._workflows), before, strict=True):
        known.clear()
        known.update(was)


def code() -> str:
    (found,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    return str(found)


def process_of_the_page(wire: Wire, posted: list[tuple[str, str]], *, failing: str = "") -> Process:
    """Run the code and submit as the line below it does; calls are noted, and one may fail."""

    def post(url: str, *, json: dict[str, Any], key: str, remaining: Any) -> Any:
        operation = url.rpartition("/")[2]
        posted.append((operation, key))
        if operation == failing:
            raise Permanent("broken", "the service answers nothing else")
        return SimpleNamespace(body={"done": operation})

    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(code(), "README.md", "exec"), names)
    names["post"] = post
    beat_schedule.ensure_flow()
    (line,) = re.findall(r"`(workers\.submit\(.+?\))`", README)
    process: Process = eval(line, {"workers": workers})
    wire.run_until_idle()
    process.refresh_from_db()
    return process


def test_an_order_is_charged_and_shipped(wire):
    posted: list[tuple[str, str]] = []
    assert process_of_the_page(wire, posted).state == "processed"
    assert [operation for operation, _ in posted] == ["charge", "ship"]


def test_what_cannot_be_shipped_is_refunded(wire):
    posted: list[tuple[str, str]] = []
    assert process_of_the_page(wire, posted, failing="ship").state == "compensated"
    assert [operation for operation, _ in posted] == ["charge", "ship", "refund"]
    assert len({key for _, key in posted}) == 3


def test_readme_is_a_first_page():
    assert len([line for line in code().splitlines() if line.strip()]) <= MOST_CODE_LINES
    assert len(README.splitlines()) < MOST_LINES
