"""What becomes of a step or a process is decided in ``workers/rules``, and by no SQL of the store.

SQL finds, locks and counts rows, and writes what was decided.  Two things would give a rule in it
away: a word that chooses between values, and a column that rules decide on set to something.  Each
place that has one is named here, with what it has, and why that is no rule.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import pytest

from tests.guard.test_architecture import ROOT
from workers.store.locked.save import PROCESS_COLUMNS, STEP_COLUMNS

#: A file below the store of the engine or of the desk, and a function; "": none.
Place = tuple[str, str]
#: A place, and the tokens of a text there.
Text = tuple[Place, list[str]]

#: Words of SQL that choose between values.
CHOOSING = {"CASE", "COALESCE", "NULLIF", "GREATEST", "LEAST", "IIF"}
#: Of each place how many such words it has.
CHOICES: dict[Place, int] = {
    # Room: answers outstanding count where they are bounded.
    ("flow/flow_control.py", ""): 1,
    # What is read for people: who has the places of a key.
    ("key_places.py", "waits"): 1,
    # Room: of a key with a rate one step at a time.
    ("key_places.py", "_unblock_calls"): 2,
    # Which workers there are: none makes 0 processes.
    ("live_workers.py", "processes"): 1,
    # How statements travel: what is too large stays behind, what is not as it was read fails.
    ("db/dialect.py", "if_small"): 1,
    # What is no instant has no duration.
    ("db/dialect.py", "seconds_between"): 1,
    ("db/transactions.py", "or_fail"): 1,
    # What is read for people: how agents stand, what came of a minute.
    ("gauges.py", "_read"): 4,
    ("minutes.py", "_statement"): 9,
    # Rows of the desk, which no step or process follows.
    ("alert_resolution.py", "_statement"): 1,
    ("alert_resolution.py", "_close"): 1,
    ("alerts.py", "write"): 1,
    ("alerts.py", "resolve"): 1,
    ("incidents.py", "_count_in"): 2,
    ("incidents.py", "_judged"): 1,
    ("delivery_plans.py", "_history"): 3,
    ("probe_results.py", "_write"): 3,
    # How far a submitter was told.
    ("sinks.py", "told"): 2,
    ("sinks.py", "redeliver"): 1,
}

TABLES = {"workers_step", "workers_process"}
#: Columns of theirs that rules decide on.
DECIDED = {*STEP_COLUMNS, *PROCESS_COLUMNS, "result", "reply"}
#: Of each place what it sets such a column to; all others are ``locked/save.py``'s, from rows.
WRITES: dict[Place, dict[str, str]] = {
    # A row that cannot be read: no rule can decide about it.
    ("claims/claim_steps.py", "_rest"): {"not_before": "%s"},
    # A reply is filed at an agent, too.
    ("settle/filed_replies.py", "file"): {"reply": ""},
    # After an outage, of whatever it struck.
    ("expire/expire_claims.py", "extend_gap"): {"complete_by": "%s"},
    # A live row is out of the index of claimable steps, or in it again; no step changes.
    ("key_places.py", "block"): {"state": "'blocked'", "limit_key": "%s"},
    ("key_places.py", "_unblock_calls"): {
        "state": "'pending'",
        "not_before": "{}(not_before,{})",
    },
    ("key_places.py", "_unblock_process"): {"state": "'pending'", "limit_key": "{}"},
    # Only says that there is something to be decided.
    ("expire/expire_claims.py", "flag_overdue"): {"needs_decision": "%s"},
}

_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|[A-Za-z_]\w*|\d+|%s|\{\}|\S")
_ENDS = {"WHERE", "FROM", "RETURNING"}


def tokens(text: ast.Constant | ast.JoinedStr) -> list[str]:
    """Return the tokens of a text; what is put into it is one of them, ``{}``."""
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    said = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
    return _TOKEN.findall("".join(said))


def texts(name: str, source: str) -> Iterator[Text]:
    """Yield the texts of a file, but for docstrings."""
    return _texts(ast.parse(source), (name, ""))


def _texts(node: ast.AST, place: Place) -> Iterator[Text]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield from _texts(child, (place[0], place[1] or child.name))
        elif isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        elif isinstance(child, ast.JoinedStr):
            yield place, tokens(child)
            # Its own parts are no texts by themselves.
            for part in child.values:
                if isinstance(part, ast.FormattedValue):
                    yield from _texts(part, place)
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield place, tokens(child)
        else:
            yield from _texts(child, place)


def of_the_store() -> Iterator[Text]:
    for folder in (ROOT / "workers/store", ROOT / "workers/desk/store"):
        for path in sorted(folder.rglob("*.py")):
            yield from texts(path.relative_to(folder).as_posix(), path.read_text())


def choices(found: Iterable[Text]) -> dict[Place, int]:
    count: Counter[Place] = Counter()
    for place, words in found:
        count[place] += sum(word in CHOOSING for word in words)
    return {place: number for place, number in count.items() if number}


def writes(found: Iterable[Text]) -> dict[Place, dict[str, str]]:
    """Return what each place that names one of the tables sets columns to."""
    values: dict[Place, dict[str, str]] = defaultdict(dict)
    named: set[Place] = set()
    for place, words in found:
        if TABLES.intersection(words):
            named.add(place)
        for at, word in enumerate(words):
            before = words[at - 1] if at else ","
            is_set = before in (",", "SET") and words[at + 1 : at + 2] == ["="]
            if is_set and word.strip('"') in DECIDED:
                values[place][word.strip('"')] = _value(words[at + 2 :])
    return {place: columns for place, columns in values.items() if place in named}


def _value(words: list[str]) -> str:
    depth, value = 0, ""
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth == 0 and (word == "," or word in _ENDS):
            break
        value += word
    return value


def test_a_choice_is_made_only_where_it_decides_nothing():
    assert choices(of_the_store()) == CHOICES


def test_what_was_decided_is_written_as_it_is():
    assert writes(of_the_store()) == WRITES


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE workers_step SET state = 'error' WHERE id = %s",
        "UPDATE workers_step SET {a}, failure_count = failure_count + 1 FROM {b} WHERE id = v.id",
        "UPDATE workers_process AS p SET needs_decision = p.outcome IS NULL WHERE {a}",
    ],
)
def test_a_column_that_a_statement_decides_on_is_found(statement):
    (columns,) = writes(texts("a.py", f"def f(a, b):\n    run(f{statement!r})")).values()

    assert len(columns) == 1
    assert set(columns) <= DECIDED


def test_a_text_of_its_own_is_found_and_a_condition_is_none():
    source = (
        'def f():\n    """CASE state = 1"""\n'
        '    update("workers_step", "state = v.state, attempt = CASE WHEN t.attempt > 3 THEN 0'
        ' ELSE 1 END", "t.state = v.state AND attempt = 2")\n'
    )

    assert writes(texts("a.py", source)) == {
        ("a.py", "f"): {"state": "v.state", "attempt": "CASEWHENt.attempt>3THEN0ELSE1END"}
    }
    assert choices(texts("a.py", source)) == {("a.py", "f"): 1}
