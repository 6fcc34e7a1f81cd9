"""The syntax trees of the code, each parsed once in a process: many guards read all of them."""

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the tree of a file; whoever asks leaves it as it is."""
    return ast.parse(path.read_text(encoding="utf-8"))
