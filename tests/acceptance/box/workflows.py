"""One step each; the input is the payload."""

from typing import Any

from workers.definitions.registry import register_workflow
from workers.definitions.workflow import Workflow, step


def _one(name: str, agent: str, **options: Any) -> Workflow:
    only = step("only", agent, **options)
    return register_workflow(Workflow(name, 1, (only,)))


QUICK = _one("box_quick", "box.quick", timeout_seconds=20)
METERED = _one("box_metered", "box.metered", timeout_seconds=20)
SLOW = _one("box_slow", "box.slow", timeout_seconds=20)
UNSAFE = _one("box_unsafe", "box.unsafe", timeout_seconds=20)
LOCAL = _one("box_local", "box.local", timeout_seconds=20)
DEADLY = _one("box_deadly", "box.deadly", timeout_seconds=1)
HUNGRY = _one("box_hungry", "box.hungry", timeout_seconds=2)
