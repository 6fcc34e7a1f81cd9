"""What the code says when it refuses something, read from its source.

A message is a template: whatever is filled in when it is raised is written ``…``.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.guard.syntax import tree_of

ROOT = Path(__file__).resolve().parents[2]
#: No part of a running shop: kits, stand-ins, schema.
LEFT_OUT = {"migrations", "testing", "sandbox", "demo", "benchmarks"}
FILLED_IN = "…"
_PLACES = re.compile(r"%\(\w+\)[sd]")


def _trees(*paths: str) -> Iterator[ast.Module]:
    for path in paths:
        top = ROOT / path
        files = [top] if top.is_file() else sorted(top.rglob("*.py"))
        assert files, f"there is no {path}"
        for file in files:
            if not LEFT_OUT & set(file.relative_to(ROOT).parts):
                yield tree_of(file)


def raised(name: str, place: int, *paths: str) -> set[str]:
    """Return what stands at a place among the arguments of every call of ``name``."""
    found = set()
    for tree in _trees(*paths):
        for scope, call in _calls(tree).get(name, ()):
            if len(call.args) > place:
                found |= _texts(call.args[place], (scope, tree))
    return _kept(found)


def given(function: str, *paths: str, place: int | None = None) -> set[str]:
    """Return what a function returns or yields; with ``place`` that part of each tuple."""
    found = set()
    for tree in _trees(*paths):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == function:
                for inner in ast.walk(node):
                    if not isinstance(inner, ast.Return | ast.Yield) or inner.value is None:
                        continue
                    value = inner.value
                    if place is not None and isinstance(value, ast.Tuple):
                        value = value.elts[place]
                    found |= _texts(value, (node, tree))
    return _kept(found)


def _kept(found: set[str]) -> set[str]:
    """Return the texts on one line each, without those of which nothing is known."""
    lines = {" ".join(text.split()) for text in found}
    return {line for line in lines if line.replace(FILLED_IN, "").strip()}


def translated(*paths: str) -> set[str]:
    """Return every text that is shown to visitors."""
    return {_PLACES.sub(FILLED_IN, text) for text in raised("_", 0, *paths)}


def assigned(to: str, *paths: str) -> set[str]:
    """Return what is put into ``to[...]``, or stands in a dictionary given to ``to(...)``."""
    found = set()
    for tree in _trees(*paths):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                if getattr(node.targets[0].value, "id", "") == to:
                    found |= _texts(node.value, (tree,))
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == to:
                for one in node.args:
                    if isinstance(one, ast.Dict):
                        found |= {text for value in one.values for text in _texts(value, (tree,))}
    return found


@cache
def _calls(tree: ast.Module) -> dict[str, list[tuple[ast.AST, ast.Call]]]:
    """Return every call by the name of what is called, with the function it stands in."""
    found: dict[str, list[tuple[ast.AST, ast.Call]]] = defaultdict(list)
    under: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while under:
        node, scope = under.pop()
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            found[called].append((scope, node))
        inner = node if isinstance(node, ast.FunctionDef) else scope
        under += [(child, inner) for child in ast.iter_child_nodes(node)]
    return dict(found)


def _texts(node: ast.AST, scopes: tuple[ast.AST, ...]) -> set[str]:
    """Return what an expression may say; what is not known before it runs is filled in."""
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else {FILLED_IN}
    if isinstance(node, ast.JoinedStr):
        return {
            "".join(
                str(part.value) if isinstance(part, ast.Constant) else FILLED_IN
                for part in node.values
            )
        }
    if isinstance(node, ast.IfExp):
        return _texts(node.body, scopes) | _texts(node.orelse, scopes)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return {_PLACES.sub(FILLED_IN, text) for text in _texts(node.left, scopes)}
    if isinstance(node, ast.BinOp):
        rights = _texts(node.right, scopes)
        return {left + right for left in _texts(node.left, scopes) for right in rights}
    if isinstance(node, ast.Subscript):
        return _texts(node.value, scopes)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("_", "lazy"):
        return {_PLACES.sub(FILLED_IN, text) for text in _texts(node.args[0], scopes)}
    if isinstance(node, ast.Name):
        return _named(node.id, scopes)
    return {FILLED_IN}


def _named(name: str, scopes: tuple[ast.AST, ...]) -> set[str]:
    """Return what a variable may hold: in its function first, then in its module."""
    for scope in scopes:
        found: set[str] = set()
        for node in ast.walk(scope):
            is_here = isinstance(node, ast.Assign) and name in {
                getattr(target, "id", "") for target in node.targets
            }
            if is_here and isinstance(node, ast.Assign):
                found |= _texts(node.value, ())
        if found:
            return found
    return {FILLED_IN}
