"""The page of errors has every code and exception of the code, and no other."""

import ast
import re
from itertools import chain
from pathlib import Path

import pytest

from orders.api.problem_types import TYPES
from tests.guard.syntax import tree_of
from workers import exceptions
from workers.definitions import delivery_problems
from workers.exceptions import OF_OUR_SIDE, SASError
from workers.notify.senders import reply_queue
from workers.rules import on_failure

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "errors.md"
#: No part of a running shop: kits, stand-ins, schema.
LEFT_OUT = {"migrations", "testing", "sandbox", "demo", "benchmarks"}
FAULTS = ("Permanent", "Transient", "Unavailable", "Refused")


def codes(*names: str, place: int = 0) -> set[str]:
    """Return the words that stand at a place among the arguments of calls of these names."""
    found: set[str] = set()
    for path in chain((ROOT / "orders").rglob("*.py"), (ROOT / "workers").rglob("*.py")):
        if not LEFT_OUT & set(path.parts):
            nodes = list(ast.walk(tree_of(path)))
            for node in nodes:
                func = getattr(node, "func", None)
                called = getattr(func, "attr", getattr(func, "id", ""))
                if isinstance(node, ast.Call) and called in names and len(node.args) > place:
                    found |= words(node.args[place], nodes)
    return {code for code in found if re.fullmatch(r"[a-z_]+", code)}


def words(value: ast.AST, nodes: list[ast.AST]) -> set[str]:
    """Return the texts that an expression may be, those of a variable of the module included."""
    if isinstance(value, ast.Constant):
        return {str(value.value)}
    if isinstance(value, ast.IfExp):
        return words(value.body, nodes) | words(value.orelse, nodes)
    of_variable = [
        words(node.value, [])
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(value, ast.Name)
        if value.id in {getattr(target, "id", "") for target in node.targets}
    ]
    return set().union(*of_variable)


def faults() -> set[str]:
    records = codes("FaultRecord", "of_error", place=1)
    return codes(*FAULTS) | records | OF_OUR_SIDE | {on_failure.CONDITION_FAILED}


def raised_exceptions() -> set[str]:
    def below(kind: type[SASError]) -> set[str]:
        return {kind.__name__}.union(*(below(one) for one in kind.__subclasses__()))

    engine = {name for name in below(SASError) if hasattr(exceptions, name)} - {"SASError"}
    shop = {"SubmissionRefused", "KeyReused", "OfferChanged", "ReturnRefused"}
    return engine | shop | {"ValueError", "TypeError"}


def rows(section: str) -> list[str]:
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = dict(zip(parts[1::2], parts[2::2], strict=True))[section]
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("section", "known"),
    [
        ("Faults of steps", faults()),
        ("A status that does not arrive", delivery_problems.TEXTS),
        ("Exceptions", raised_exceptions()),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_every_code_has_its_line_and_no_line_is_of_nothing(section, known):
    assert sorted(rows(section)) == sorted(known)


def test_the_codes_of_the_http_api_stand_as_the_code_words_them():
    page = PAGE.read_text(encoding="utf-8")
    lines = [f"| `{t.code}` | {t.status} | {t.means} | {t.remedy} |" for t in TYPES.values()]
    assert "\n" + "\n".join(lines) + "\n\n" in page


def test_every_problem_of_a_delivery_that_is_raised_has_its_words():
    of_one_message = codes("BrokerRefused", place=1) - set(reply_queue.OURS)
    assert codes("Undelivered") | of_one_message == set(delivery_problems.TEXTS)
