"""Every point the code names, and every act that should stand in one, read from the source."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tests.guard.syntax import tree_of
from tests.programs import ROOT

#: What is no part of a running system: test kits, demo services, schema.
LEFT_OUT = ("migrations", "testing", "sandbox", "demo", "demo_data.py", "doctor", "stack")
POINTS = {"durable", "around"}
#: Names of calls that take effect outside this process.
ACTS = {
    *("atomic", "send_task", "send_task_message", "apply_async", "delay", "publish", "_send"),
    *("ack", "reject", "requeue"),
}
#: Acts that need no point, and why.
EXCUSED = {
    ("workers/runtime/failpoints.py", "atomic"): "is the point",
    ("workers/ops/checks/in_flight.py", "atomic"): "reads only",
    ("workers/checks/tables.py", "atomic"): "reads only",
    ("workers/ops/invariant_check.py", "atomic"): "reads only",
    ("workers/store/settle/conditions.py", "atomic"): "a savepoint",
    ("workers/store/settle/end_processes.py", "atomic"): "a savepoint",
    ("workers/privacy/erase.py", "atomic"): "reads only",
    ("workers/store/isolation.py", "atomic"): "a savepoint",
    ("orders/consumer/handling.py", "atomic"): "is rolled back",
    (
        "workers/wire/publisher.py",
        "send_task_message",
    ): "is called through dispatch._send, in a point",
    ("workers/wire/publisher.py", "publish"): "is called through dispatch._send, in a point",
    ("workers/wire/dispatch.py", "_send"): "its callers stand in points",
    ("workers/wire/confirmed.py", "publish"): "is sent in relay.send and answers.publish",
    ("workers/wire/confirmed.py", "_send"): "its callers stand in points",
    ("orders/consumer/inbox.py", "ack"): "is called in loop.ack",
    ("orders/consumer/answers.py", "_send"): "holds the point",
    ("sasproject/stack/runner.py", "publish"): "writes a file",
}


@dataclass(frozen=True, slots=True)
class Point:
    kind: str
    name: str
    where: str


def sources() -> Iterator[tuple[str, ast.Module]]:
    for top in ("workers", "orders", "sasproject"):
        for path in sorted((ROOT / top).rglob("*.py")):
            where = path.relative_to(ROOT).as_posix()
            if not set(LEFT_OUT) & set(path.relative_to(ROOT).parts):
                yield where, tree_of(path)


def points() -> list[Point]:
    """Return every point of the code, from calls of ``durable`` and ``around`` by a literal."""
    found = []
    for where, tree in sources():
        if where == "workers/runtime/failpoints.py":
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in POINTS:
                (name,) = node.args
                assert isinstance(name, ast.Constant), f"{where}:{node.lineno}: not a literal"
                found.append(Point(node.func.id, name.value, where))
    return found


def stops() -> set[str]:
    """Return every instant at which a process can be made to die."""
    of = {"durable": ("before", "written", "after"), "around": ("before", "after")}
    return {f"{point.name}:{stop}" for point in points() for stop in of[point.kind]}


def unnamed_acts() -> list[str]:
    """Return the acts that stand in no point and have no excuse."""
    found = []
    for where, tree in sources():
        covered = {id(inner) for block in _blocks(tree) for inner in ast.walk(block)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or id(node) in covered:
                continue
            name = _called(node.func)
            if name in ACTS and (where, name) not in EXCUSED:
                found.append(f"{where}:{node.lineno}: {name}")
    return found


def _blocks(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            calls = [item.context_expr for item in node.items]
        elif isinstance(node, ast.FunctionDef):
            calls = node.decorator_list
        else:
            continue
        if {_called(one.func) for one in calls if isinstance(one, ast.Call)} & POINTS:
            yield node


def _called(func: ast.expr) -> str:
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""
