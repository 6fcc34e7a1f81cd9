"""A class is named after a thing, and what the engine does by the field's own words."""

import ast
import re

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


def test_no_class_is_named_by_a_participle():
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


#: Pictures of our own, for which there is a term: wake-up, release, message, batch, kill, match.
METAPHORS = {
    *("appointment", "bury", "errand", "land", "lockeds", "mourn", "nudge", "surrender", "trip")
}


def test_the_engine_uses_the_terms_of_the_field():
    found = [
        f"{name_of(path)}:{node.lineno} {name}"
        for path in sources()
        if name_of(path).startswith("workers/") and not name_of(path).startswith("workers/desk/")
        for node in ast.walk(tree_of(path))
        for name in _names(node)
        if METAPHORS & {part.lower() for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", name)}
    ]

    assert found == []


def _names(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name):
            return [name]
        case ast.arg(arg=name) | ast.Attribute(attr=name):
            return [name]
    return []
