"""The verbs of the state store, read from its code: who makes a write durable, and is called.

A write stands in a named block (``workers.runtime.failpoints``).  A public function that has
one, or that calls a private function of its file which has one, is a verb.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.guard.syntax import tree_of
from tests.programs import ROOT

#: Where verbs live: the store, and what makes a process and an alert by its means.
PLACES = [
    *sorted((ROOT / "workers/store").rglob("*.py")),
    *(ROOT / f"workers/client/{name}.py" for name in ("operations", "submission")),
]
BLOCKS = {"around", "durable"}
#: What carries out a command on a process: these are no verbs themselves.
STEERING = {"move", "steer"}

Functions = dict[str, ast.FunctionDef]


def verbs() -> set[str]:
    """Return the names of all verbs, as ``module.function``."""
    return {f"{path.stem}.{name}" for path in PLACES for name in _verbs(_functions(path))}


def moves() -> set[str]:
    """Return the operators' verbs: functions of ``workers.rules.operator_commands``."""
    found = _functions(ROOT / "workers/rules/operator_commands.py")
    return {
        name
        for name, function in found.items()
        if not name.startswith("_") and "actor" in {one.arg for one in function.args.args}
    }


def moves_of_steering() -> set[str]:
    """Return the operators' verbs that the store carries out, of one process and of a job's."""
    files = ("workers/client/operations.py", "workers/desk/rules/job_verbs.py")
    return {
        node.attr
        for file in files
        for node in ast.walk(tree_of(ROOT / file))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "operator_commands"
    }


def _functions(path: Path) -> Functions:
    tree = tree_of(path)
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _verbs(functions: Functions) -> Iterator[str]:
    writing = {name for name, function in functions.items() if _has_block(function)}
    for name, function in functions.items():
        called = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        by_others = {one for one in writing if one.startswith("_")} & called
        is_writing = name in writing or by_others or _is_steering(function)
        if is_writing and not name.startswith("_") and name not in STEERING:
            yield name


def _is_steering(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("steering", verb) for verb in STEERING}
        for node in ast.walk(function)
    )


def _has_block(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BLOCKS
        for node in ast.walk(function)
    )
