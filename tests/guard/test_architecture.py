"""Rules of the house that no linter knows."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guard.syntax import tree_of
from tests.programs import ROOT

PACKAGES = ("workers", "orders", "sasproject")
#: Columns that say where a process or step stands; only the store's statements write them.
STATE_COLUMNS = {
    "state",
    "claim_id",
    "locked_by",
    "complete_by",
    "started_at",
    "attempt",
    "failure_count",
    "may_have_effect",
    "needs_decision",
    "sequence",
    "deferral",
    "is_in_doubt",
    "is_by_hand",
    "idempotency_key",
    "not_before",
    "outcome",
    "paused_at",
    "deadline_at",
}
#: The rows in memory, whose moves the store writes, and the test kit, which turns the clock.
PURE = {
    "workers/rules/compensation.py",
    "workers/rules/evidence.py",
    "workers/rules/fall_back.py",
    "workers/rules/late_success.py",
    "workers/rules/transitions.py",
    "workers/rules/apply_reply.py",
    "workers/rules/on_failure.py",
    "workers/rules/restart.py",
    "workers/rules/hold_endings.py",
    "workers/rules/external_answers.py",
    "workers/rules/overdue_answers.py",
    "workers/rules/operator_commands.py",
    "workers/testing/clock.py",
}
#: Has a table whose state is its own: nothing of a process or step.
OTHER_STATES = {"orders/dead_letters.py"}
LINES = 450
#: Where the engine has texts for people: names of tables, rights and states, sentences of
#: exceptions, and what puts stored sentences into words.
TRANSLATED = (
    *("workers/models/", "workers/apps.py", "workers/states.py", "workers/rules/refusals.py"),
    *("workers/definitions/delivery_problems.py", "workers/definitions/sentences.py"),
    # The kind of a code that nobody has declared, without a word.
    "workers/definitions/alert_kinds.py",
)
#: What is made of texts that people read.
TEXTS = {"AlertKind", "say", "say_counted"}
#: Rooms above the engine, which have texts.
ABOVE = ("workers/desk/", "workers/ops/", "workers/privacy/", "workers/testing/")


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def assigned_attributes(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield attribute assignments to anything but ``self``."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            for part in ast.walk(target):
                is_self = (
                    isinstance(part, ast.Attribute)
                    and isinstance(part.value, ast.Name)
                    and part.value.id == "self"
                )
                if isinstance(part, ast.Attribute) and not is_self:
                    yield part.attr, part.lineno


def updated_columns(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the keywords of ``.update(...)`` calls on querysets."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "update"
        ):
            for keyword in node.keywords:
                if keyword.arg:
                    yield keyword.arg, node.lineno


def test_only_the_store_assigns_state_columns():
    found = []
    for path in sources():
        name = name_of(path)
        if (
            name.startswith(("workers/store/", "workers/desk/store/"))
            or name in PURE | OTHER_STATES
        ):
            continue
        tree = tree_of(path)
        for column, line in [*assigned_attributes(tree), *updated_columns(tree)]:
            if column in STATE_COLUMNS:
                found.append(f"{name}:{line} assigns {column}")

    assert found == []


def test_only_publishing_sends():
    senders = {"send_task", "send_task_message", "apply_async", "delay", "delay_on_commit"}
    found = []
    for path in sources():
        name = name_of(path)
        for node in ast.walk(tree_of(path)):
            is_sending = (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in senders
            )
            if is_sending and name != "workers/wire/publisher.py":
                found.append(f"{name}:{node.lineno}")

    assert found == []


def test_only_one_module_publishes_what_is_no_task():
    producers = {
        name_of(path)
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and (getattr(node.func, "attr", None) or getattr(node.func, "id", "")) == "Producer"
    }

    # The doctor's probe publishes to itself; a card is left again each minute, lost or not.
    assert producers == {
        *("workers/wire/confirmed.py", "workers/ops/doctor/broker.py"),
        "workers/wire/installation.py",
    }


def test_the_engine_never_names_an_order():
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in sources()
        if path.is_relative_to(ROOT / "workers")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and any(
            (getattr(node, "module", None) or alias.name).split(".")[0] in ("orders", "sasproject")
            for alias in node.names
        )
    ]

    assert found == []


@pytest.mark.parametrize("folder", ["workers", "orders", "sasproject", "tests"])
def test_no_file_outgrows_its_reader(folder):
    long = {
        name_of(path): count
        for path in (ROOT / folder).rglob("*.py")
        if "migrations" not in path.parts and (count := len(path.read_text().splitlines())) > LINES
    }

    assert long == {}


def test_there_is_no_drawer_without_a_noun():
    names = {path.stem for path in sources()}

    assert names & {"utils", "helpers", "misc", "common", "actions"} == set()


def test_no_model_signal_is_connected():
    signals = {"post_save", "pre_save", "post_delete", "pre_delete", "m2m_changed"}
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in sources()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Name | ast.Attribute)
        and (node.id if isinstance(node, ast.Name) else node.attr) in signals
    ]

    assert found == []


def texts_for_people(tree: ast.AST) -> Iterator[str]:
    """Yield what a module translates or declares for people to read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation":
            yield from (f"imports {name.name}" for name in node.names)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in TEXTS:
            yield f"calls {ast.unparse(node.func)}"


def test_engine_writes_codes_and_has_no_texts_for_people():
    found = [
        f"{name} {text}"
        for path in sources()
        if (name := name_of(path)).startswith("workers/")
        and not name.startswith((*ABOVE, *TRANSLATED))
        for text in texts_for_people(tree_of(path))
    ]
    assert found == [], "Write a code and parameters; their text belongs in workers/desk/texts"


def test_text_for_people_is_noticed():
    source = "from django.utils.translation import gettext as _\nAlertKind('a', _('Look'))\n"
    assert list(texts_for_people(ast.parse(source))) == ["imports gettext", "calls AlertKind"]
