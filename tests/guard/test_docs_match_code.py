"""The reference pages name everything the code has, and no link in the docs is dead.

Each test reads the names out of the code and looks for them in the page that lists them, so
that a new setting, event or command cannot be merged without its line of documentation.
"""

import ast
import importlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from inspect import get_annotations
from pathlib import Path
from typing import Any

import pytest

from tests.guard.syntax import tree_of
from tests.programs import ROOT
from workers import states
from workers.checks import DEPLOYMENT_NAMES
from workers.conf import Number, declared
from workers.definitions.agent import Agent, Call, Deferred
from workers.definitions.alert_kinds import Choice, alert_kinds
from workers.definitions.effects import Effect
from workers.definitions.workflow import Fallback, OnFailure, StepSpec, Undo, Workflow
from workers.desk.management.process_actions import VERBS
from workers.management.commands import sas
from workers.operate import retention
from workers.protocol.messages import Reply
from workers.rules.external_answers import Outcome
from workers.states import ProcessState, StepState

DOCS = ROOT / "docs"
PACKAGES = ("sasproject", "orders", "workers")
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("proofs/*.md")])
ADRS = sorted((DOCS / "adr").glob("[0-9]*.md"))

#: How a journal entry is written -> where its event stands among the positional arguments.
EVENT_PLACES = {"note": 0, "move_process": 1, "fail": 1, "move": 2, "_note": 2}
#: The same for an alert's code.
CODE_PLACES = {"alert": 0, "raise_alert": 0, "AlertCall": 1}


def reference(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")


def names_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def sources(*folders: str) -> Iterator[str]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.read_text(encoding="utf-8")


@cache
def calls(folder: str) -> list[tuple[str, ast.Call]]:
    """Return every call in the code with the name of what is called."""
    return [
        (getattr(node.func, "attr", getattr(node.func, "id", "")), node)
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
    ]


def literals(places: dict[str, int], keyword: str) -> set[str]:
    """Return the text constants at these places of calls, or given as ``keyword``."""
    found = set()
    for name, call in calls("workers"):
        given = [pair.value for pair in call.keywords if pair.arg == keyword]
        place = places.get(name)
        if place is not None:
            given += call.args[place : place + 1]
        elif name != "Entry":
            given = []
        found |= {node.value for node in given if isinstance(node, ast.Constant)}
    return {value for value in found if isinstance(value, str)}


def missing(names: Iterable[str], page: str) -> list[str]:
    """Return the names that the page does not have as code."""
    return sorted(name for name in names if f"`{name}`" not in page)


def test_every_engine_setting_has_its_line():
    page = reference("settings")
    for setting in declared():
        lines = [line for line in page.splitlines() if line.startswith(f"| `{setting.name}` |")]
        assert len(lines) == 1, f"settings.md: {setting.name} has {len(lines)} lines"
        if not isinstance(setting, Number):
            continue
        facts = f"| {setting.default:.10g} | {setting.low:.10g} to {setting.high:.10g} |"
        assert facts in lines[0], f"settings.md: the line of {setting.name} should hold {facts}"


def test_every_environment_variable_has_its_line():
    settings = (ROOT / "sasproject" / "settings.py").read_text(encoding="utf-8")
    read = set(re.findall(r'\benv\.\w+\(\s*"(\w+)"', settings))
    assert "DATABASE_URL" in read
    assert missing(read | DEPLOYMENT_NAMES, reference("settings")) == []


def test_no_setting_is_listed_that_does_not_exist():
    known = {setting.name for setting in declared()} | DEPLOYMENT_NAMES
    for page in PAGES:
        named = set(re.findall(r"\bSAS_[A-Z_]+[A-Z]\b", page.read_text(encoding="utf-8")))
        assert named <= known, f"{names_of(page)} names {sorted(named - known)}"


def diagram(
    moves: Iterable[tuple[str, str]], every: list[str], first: list[str], final: Iterable[str]
) -> str:
    """Draw a table of legal moves; paste it into states.md when the table has changed."""
    ordered = sorted(moves, key=lambda move: [every.index(state) for state in move])
    lines = ["stateDiagram-v2", *(f"    [*] --> {state}" for state in first)]
    lines += [f"    {before} --> {after}" for before, after in ordered]
    lines += [f"    {state} --> [*]" for state in every if state in final]
    return "```mermaid\n" + "\n".join(lines) + "\n```"


@pytest.mark.parametrize(
    ("moves", "every", "first", "final"),
    [
        (states.PROCESS_MOVES, ProcessState.values, ["pending"], states.FINAL_PROCESS_STATES),
        (
            states.STEP_MOVES,
            StepState.values,
            ["waiting", "pending"],
            {"processed", "skipped", "compensated", "cancelled"},
        ),
    ],
    ids=["process", "step"],
)
def test_states_and_legal_moves_are_drawn_and_explained(moves, every, first, final):
    page = reference("states")
    assert diagram(moves, every, first, final) in page
    assert missing(every, page) == []
    for before, after in moves:
        assert f"| `{before}` → `{after}` |" in page, f"states.md: explain {before} → {after}"


def test_every_journal_event_has_its_line():
    events = literals(EVENT_PLACES, "event")
    assert {"submitted", "claimed", "expired"} <= events
    assert missing(events, reference("journal")) == []


def test_every_alert_code_has_its_line():
    codes = literals(CODE_PLACES, "code")
    assert "process_error" in codes
    assert missing(codes, reference("alerts")) == []


def test_what_to_do_on_an_alert_is_said_alike_on_the_page_and_by_the_product():
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.+?) \|$", reference("alerts"), re.MULTILINE)
    on_page = {code: re.sub(r"\[(.+?)\]\(.+?\)", r"\1", text) for code, text in rows}
    kinds = {kind.code: remedies(kind.remedy) for kind in alert_kinds()}
    assert set(kinds) == literals(CODE_PLACES, "code") | shop_codes()
    # Where one of several is to be done, the page says before each of them when.
    said = {code: re.sub(r"\*[^*]+:\* ", "", on_page[code]) for code in kinds}
    assert {code: re.sub("[*`]", "", text) for code, text in said.items()} == kinds


def remedies(remedy: Choice) -> str:
    return " ".join(map(str, remedy.values())) if isinstance(remedy, Mapping) else str(remedy)


def shop_codes() -> set[str]:
    """Return the codes of the alerts that the shop raises."""
    raised = [call.args[0] for name, call in calls("orders") if name == "raise_alert"]
    return {str(code.value) for code in raised if isinstance(code, ast.Constant)}


def test_every_verb_has_its_line():
    assert missing(VERBS, reference("commands")) == []
    steer = (DOCS / "how-to" / "steer-an-order.md").read_text(encoding="utf-8")
    assert [name for name in VERBS if f" {name} NUMBER" not in steer and name != "answer"] == [
        "compensate"  # shown with cancel, which takes the same options
    ]


@pytest.mark.parametrize(
    "declared", [Workflow, StepSpec, Undo, Fallback, Deferred, Call], ids=lambda one: one.__name__
)
def test_everything_that_can_be_declared_has_its_line(declared):
    filled_in = {"by_name", "agents", "effect", "undo_effect", "undo_key_retention_seconds"}
    if declared is not Call:
        filled_in |= {"key_retention_seconds", "per_key", "undo_per_key"}
    names = {field.name for field in fields(declared)} - filled_in
    assert missing(names, reference("workflow")) == []


def test_every_attribute_and_effect_of_an_agent_has_its_line():
    names = {name for name in get_annotations(Agent) if name != "is_local"}
    assert "effect" in names
    page = reference("workflow")
    assert missing(names | {"callback_token"}, page) == []
    assert missing([effect.name for effect in Effect], page) == []
    assert missing([one.name for one in OnFailure], page) == []


def test_every_outcome_of_an_answer_has_its_line():
    assert missing(list(Outcome), reference("messages")) == []


def test_every_check_has_its_line():
    ours = rf'"((?:{"|".join(PACKAGES)})\.[EW]\d{{3}})"'
    ids = set(re.findall(ours, "\n".join(sources(*PACKAGES))))
    assert "workers.E001" in ids
    lines = re.findall(r"^\| `(\w+\.[EW]\d{3})` \|", reference("checks"), re.MULTILINE)
    assert sorted(lines) == sorted(ids)


def test_every_management_command_has_its_line():
    files = [file for name in PACKAGES for file in ROOT.glob(f"{name}/**/management/commands/*.py")]
    commands = {f"manage.py {file.stem}" for file in files if file.stem != "__init__"}
    commands |= {f"manage.py sas {noun}" for noun in sas.nouns()}
    assert {"manage.py stack", "manage.py sas flow", "manage.py sas jobs"} <= commands
    assert missing(commands, reference("commands")) == []


def test_every_make_target_has_its_line():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {f"make {name}" for name in re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)}
    assert "make demo" in targets
    assert missing(targets, reference("commands")) == []


def test_the_messages_shown_are_messages():
    shown = re.findall(r"```json\n(.*?)```", reference("messages"), re.DOTALL)
    (filed,) = map(json.loads, shown)
    assert Reply.from_wire(filed).to_wire() == filed


@pytest.mark.parametrize("page", PAGES, ids=names_of)
def test_links_inside_the_repository_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{names_of(page)}: {target}"
        assert not anchor or anchor in anchors(file), f"{names_of(page)}: {target}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=names_of)
def test_files_and_tests_that_are_named_exist(page):
    words = set(re.findall(r"`([^`\s]+)`", page.read_text(encoding="utf-8")))
    begins = tuple(f"{name}/" for name in (*PACKAGES, "tests", "docs"))
    gone = {word for word in words if word.startswith(begins) and not (ROOT / word).exists()}
    assert gone == set()
    tests = {word for word in words if word.startswith("test_")}
    assert tests - names_of_tests() == set()


@cache
def names_of_tests() -> set[str]:
    return set(re.findall(r"^ *def (test_\w+)", "\n".join(sources("tests")), re.MULTILINE))


@cache
def modules() -> dict[str, str]:
    """Return the source of the engine's modules by name; those of one name together."""
    sources: dict[str, str] = {}
    for path in sorted((ROOT / "workers").rglob("*.py")):
        sources[path.stem] = sources.get(path.stem, "") + path.read_text(encoding="utf-8")
    return sources


@pytest.mark.parametrize("page", sorted([*DOCS.glob("explanation/*.md"), *ADRS]), ids=names_of)
def test_what_is_named_with_its_module_is_there(page):
    """Names such as `claim_steps.start`; a file of that name has to define what is named."""
    words = re.findall(r"`([a-z_]+)\.(\w+)(?:\(\))?`", page.read_text(encoding="utf-8"))
    suffixes = {"py", "md", "json", "html", "toml", "txt"}
    gone = [
        f"{module}.{name}"
        for module, name in words
        if module in modules()
        and module != "sas"  # queues are called so: `sas.agents`
        and name not in suffixes
        and not re.search(rf"^(?:def|class) {name}\b|^{name}\b", modules()[module], re.MULTILINE)
    ]
    assert gone == []


@pytest.mark.parametrize("page", PAGES, ids=names_of)
def test_python_shown_is_python_and_its_imports_exist(page):
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGES):
                module: Any = importlib.import_module(str(node.module))
                for alias in node.names:
                    assert hasattr(module, alias.name), f"{node.module} has no {alias.name}"


@pytest.mark.parametrize("page", ADRS, ids=names_of)
def test_a_decision_has_its_four_parts_on_one_screen(page):
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        *("Decision", "Why", "Cost", "Reopen when")
    ]
    assert re.search(r"^Status: accepted\. Date: \d{4}-\d\d-\d\d\.$", text, re.MULTILINE)
    assert text.startswith(f"# {int(page.name[:4])}. ")
    assert len(text.split()) <= 350


def test_every_decision_has_one_number_and_those_named_are_there():
    text = "\n".join([*(page.read_text() for page in PAGES), *sources(*PACKAGES, "tests")])
    merged = re.findall(r"\d+", " ".join(re.findall(r"^Takes in ADR (.+)$", text, re.MULTILINE)))
    numbers = [*(int(page.name[:4]) for page in ADRS), *map(int, merged)]
    assert len(set(numbers)) == len(numbers)
    assert set(map(int, re.findall(r"\bADR (\d+)", text))) <= set(numbers)


@pytest.mark.parametrize("page", PAGES, ids=names_of)
def test_every_row_of_a_table_has_the_cells_of_its_head(page):
    head = 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("|"):
            head = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1
        head = head or cells
        assert cells == head, f"{page.name}:{number} has {cells} cells of {head}"


def test_what_can_be_pruned_is_named_on_the_page():
    (row,) = re.findall(r"^\| `--only NAME` \| Only this.*", reference("commands"), re.MULTILINE)
    assert set(re.findall(r"`([^`]+)`", row)[1:]) == {one.name for one in retention.pruners()}


def test_the_engine_names_pages_by_their_titles():
    """Whoever installed the package alone has no file of ours, but can look for a title."""
    titles = {
        page.read_text(encoding="utf-8").partition("\n")[0][2:] for page in DOCS.rglob("*.md")
    }
    named = []
    for path in sorted((ROOT / "workers").rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert "docs/" not in node.value, (path, node.lineno)
                assert ".md" not in node.value, (path, node.lineno)
                named += re.findall(r'"([^"]+)"\s+in the documentation', node.value)
    assert len(named) > 10
    assert [title for title in named if title not in titles] == []


def test_every_page_is_on_the_map():
    on_the_map = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert [page for page in pages if page != "README.md" and f"({page})" not in on_the_map] == []
