"""Fixtures of the test kit's own tests."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from workers.definitions import registry
from workers.supervisor import beat_schedule
from workers.testing import Clock, frozen_clock

#: The instant at which the clock of every test stands still.
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"

Known = tuple[dict[str, Any], ...]


def run_page(name: str, module: dict[str, Any]) -> Known:
    """Run a how-to's code in a module's names; return the agents and workflows it made known."""
    page = HOW_TO / name
    snippets = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    with known_too(({}, {})) as before:
        exec(compile("\n".join(snippets), str(page), "exec"), module)
        return tuple(
            {key: one for key, one in known.items() if key not in was}
            for known, was in zip((registry._agents, registry._workflows), before, strict=True)
        )


@contextmanager
def known_too(more: Known) -> Iterator[Known]:
    """Make agents and workflows known for a while; yields those known before."""
    known = registry._agents, registry._workflows
    before = tuple(map(dict, known))
    for registered, added in zip(known, more, strict=True):
        registered.update(added)
    yield before
    for registered, was in zip(known, before, strict=True):
        registered.clear()
        registered.update(was)


@pytest.fixture(autouse=True)
def flow_rows(db) -> None:
    """Give every agent its window, as `migrate` would."""
    beat_schedule.ensure_flow()


@pytest.fixture
def clock() -> Iterator[Clock]:
    with frozen_clock(NOON) as clock:
        yield clock
