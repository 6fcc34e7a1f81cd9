"""Every snippet of the how-to on crashes is run, as the page has it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.definitions import registry

pytestmark = pytest.mark.volume
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "test-crashes.md"


@pytest.fixture(scope="module", autouse=True)
def concert() -> Iterator[None]:
    """Make the page's workflow and its agents known, to this module only."""
    before = dict(registry._agents), dict(registry._workflows)
    agents, workflows = _of_the_page
    registry._agents.update(agents)
    registry._workflows.update(workflows)
    yield
    _restore(before)


def _restore(before: tuple[dict, dict]) -> None:
    for known, was in zip((registry._agents, registry._workflows), before, strict=True):
        known.clear()
        known.update(was)


def _run_page() -> tuple[dict, ...]:
    """Run the page's code as this module's own; return the agents and workflows it made known."""
    before = dict(registry._agents), dict(registry._workflows)
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile("\n".join(snippets), str(PAGE), "exec"), globals())
    made = tuple(
        {key: one for key, one in known.items() if key not in was}
        for known, was in zip((registry._agents, registry._workflows), before, strict=True)
    )
    _restore(before)
    return made


# From here on pytest finds the page's tests in this module.
_of_the_page = _run_page()
