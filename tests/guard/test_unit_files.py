"""Every rule has a unit file of its own name, and none of those needs a database."""

import ast
from pathlib import Path

from tests.guard.syntax import tree_of
from tests.guard.test_architecture import ROOT

UNIT = ROOT / "tests" / "unit"
FIXTURES = {"db", "transactional_db", "django_db_setup", "django_db_blocker", "live_server"}


def rules() -> list[str]:
    return sorted(
        path.stem
        for folder in ("workers/rules", "workers/desk/rules")
        for path in (ROOT / folder).glob("*.py")
        if path.stem != "__init__"
    )


def database_names(path: Path) -> set[str]:
    """Return what a file names that gives a test a database: fixtures and the mark."""
    tree = tree_of(path)
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    marks = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return (arguments & FIXTURES) | (marks & {"django_db"})


def test_every_rule_has_its_unit_file():
    missing = [name for name in rules() if not (UNIT / f"test_{name}.py").exists()]

    assert missing == []


def test_unit_tests_of_rules_ask_no_database():
    found = {name: database_names(UNIT / f"test_{name}.py") for name in rules()}

    assert {name: names for name, names in found.items() if names} == {}
