"""Every snippet of the how-to on crashes is run, as the page has it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.definitions import registry
from workers.definitions.agent import Agent, Call

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "test-crashes.md"


def _call_out(self: Agent, call: Call) -> None:
    raise RuntimeError(f"{self.name} would call a remote service")


@pytest.fixture(scope="module", autouse=True)
def concert() -> Iterator[None]:
    """Make the page's workflow and its agents known, to this module only."""
    before = dict(registry._agents), dict(registry._workflows)
    for name in globals()["AGENTS"]:
        registry.register_agent(type("Remote", (Agent,), {"name": name, "run": _call_out}))
    registry._workflows.update(_of_the_page)
    yield
    _restore(before)


def _restore(before: tuple[dict, dict]) -> None:
    for known, was in zip((registry._agents, registry._workflows), before, strict=True):
        known.clear()
        known.update(was)


def _run_page() -> dict:
    """Run the page's code as this module's own; return the workflows it made known."""
    before = dict(registry._agents), dict(registry._workflows)
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile("\n".join(snippets), str(PAGE), "exec"), globals())
    made = {key: one for key, one in registry._workflows.items() if key not in before[1]}
    _restore(before)
    return made


# From here on pytest finds the page's tests in this module.
_of_the_page = _run_page()
