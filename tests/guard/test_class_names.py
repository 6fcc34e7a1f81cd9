"""A class is named after a thing: not after what was done to it."""

import ast

from tests.guard.syntax import tree_of
from tests.guard.test_architecture import name_of, sources

PARTICIPLES = {
    *("Asked", "Begun", "Called", "Chosen", "Done", "Ended", "Expired", "Found", "Given"),
    *("Handled", "Held", "Kept", "Known", "Left", "Looked", "Lost", "Moved", "Paused", "Pruned"),
    *("Read", "Said", "Seen", "Sent", "Settled", "Stopped", "Swept", "Taken", "Told", "Undone"),
    *("Waiting", "Wanted", "Watched", "Worked", "Written"),
}
#: Public names of the test kit.
PUBLIC = {f"workers/testing/{name}.py" for name in ("result", "scripted_agents", "wire")}


def test_no_class_is_named_by_a_participle() -> None:
    found = [
        f"{name_of(path)}:{node.lineno} {name}"
        for path in sources()
        if name_of(path) not in PUBLIC
        for node in tree_of(path).body
        for name in _defined(node)
        if name in PARTICIPLES
    ]

    assert found == []


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [one.id for one in node.targets if isinstance(one, ast.Name)]
    return []
