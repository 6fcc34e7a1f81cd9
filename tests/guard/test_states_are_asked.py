"""Which states an order can be in, end in or be undone from is asked of `workers.states`.

A list by hand goes stale: the demo's lacked ``compensating``, and called every declined card lost.
"""

import ast

import pytest

from tests.guard.syntax import tree_of
from tests.programs import ROOT
from workers.states import ProcessState

STATES = {str(state) for state in ProcessState}
#: How a database column, a stylesheet and the journal's events are spelled, which is not a choice
#: of states.
SPELLED = {
    *("workers/models/process.py", "workers/store/locked/save.py"),
    *("orders/admin/dead_letter.py", "orders/schemas.py", "workers/desk/admin/act_lines.py"),
}
MODULES = [
    path
    for package in ("sasproject", "orders", "workers")
    for path in sorted((ROOT / package).rglob("*.py"))
    if "migrations" not in path.parts and str(path.relative_to(ROOT)) not in SPELLED
]


def lists_of_states(tree: ast.Module) -> list[int]:
    """Return the lines on which two states or more stand side by side as plain text."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Set | ast.Tuple | ast.List)
        and sum(isinstance(one, ast.Constant) and one.value in STATES for one in node.elts) > 1
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_list_of_states_is_written_by_hand(path):
    assert lists_of_states(tree_of(path)) == []


def test_such_a_list_is_found():
    assert lists_of_states(ast.parse('x = 1\nOPEN = frozenset({"pending", "processing"})')) == [2]
    assert lists_of_states(ast.parse('x = ("processed", "other")')) == []
