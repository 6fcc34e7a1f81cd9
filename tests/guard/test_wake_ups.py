"""Whoever changes something need not remember a wake-up: the verbs send their own."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tests.guard.syntax import tree_of
from tests.guard.test_architecture import ROOT, name_of, sources
from workers.client import operations
from workers.desk.operate import deliveries

#: Where the verbs of the engine and of the desk stand.
STORES = ("workers.store", "workers.desk.store")
#: The roles themselves, and what carries a hint: all others have their verbs send them.
SENDERS = (
    *("workers/wire/", "workers/scheduler/", "workers/agent/", "workers/supervisor/"),
    *("workers/notify/", "workers/testing/", "workers/celery/", "workers/tasks.py"),
    # Asks for its own next slice; and what sweep and poll have it ask for.
    *("workers/desk/operate/jobs.py", "workers/desk/duties.py", "workers/desk/tasks.py"),
    "workers/desk/wake_ups.py",
    # Waits until what its verbs asked for has left.
    "workers/management/terminal.py",
)
#: Where a verb of the store is given its wake-up, or called inside one that has it.
VERBS = (
    *("workers/store/", "workers/client/", "workers/operate/"),
    *("workers/desk/store/", "workers/desk/operate/"),
)
#: Whether anybody is woken depends on what came of them.
BY_OUTCOME = {("record_answers", "answer"), ("jobs", "steer")}


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)


def woken(module: ModuleType) -> set[tuple[str, str]]:
    """Return the verbs that a module gives a wake-up, its own as well, as (module, name)."""
    verbs = [getattr(value, "__wrapped__", None) for value in vars(module).values()]
    return {
        (verb.__module__.rpartition(".")[2], verb.__name__)
        for verb in verbs
        if verb is not None and verb.__module__.startswith((*STORES, "workers.client"))
    }


def test_only_verbs_and_engine_roles_import_wake_ups():
    found = [
        f"{name_of(path)}:{line} imports {name}"
        for path in sources()
        if not name_of(path).startswith(SENDERS) and path != ROOT / "workers/__init__.py"
        for name, line in imported(tree_of(path))
        if is_hint(name) or (name.startswith("workers.wire.wake_ups") and not is_of_a_verb(path))
    ]

    assert found == []


def is_hint(name: str) -> bool:
    module, _, last = name.rpartition(".")
    # What else of it is imported are names of queues and tasks.
    is_function = module == "workers.wire.dispatch" and last.islower()
    return name in {"workers.wire.dispatch", "workers.wake"} or is_function


def is_of_a_verb(path: Path) -> bool:
    return name_of(path).startswith(
        ("workers/client/", "workers/operate/", "workers/desk/operate/")
    )


def test_verbs_are_called_where_they_wake():
    verbs = woken(operations) | woken(deliveries) | BY_OUTCOME
    assert len(verbs) == 17
    found = [
        f"{name_of(path)}:{node.lineno} calls {node.value.id}.{node.attr}"
        for path in sources()
        if not name_of(path).startswith(VERBS)
        for tree in [tree_of(path)]
        for modules in [{name for name, _ in imported(tree) if name.startswith(STORES)}]
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in verbs
        and any(name.endswith(f".{node.value.id}") for name in modules)
    ]

    assert found == []
