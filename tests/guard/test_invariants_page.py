"""The page of invariants is what the code says, row by row."""

import re
from pathlib import Path

from orders import invariants as shop
from workers.ops import invariants as engine

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "invariants.md"
ROW = re.compile(r"^\| `(\w+)` \| (?:\*Ledger\.\* )?(.+?) \| (I[\d, I]+) \|$", re.MULTILINE)


def test_the_page_says_what_the_code_says():
    rows = [(name, says) for name, says, _ in ROW.findall(PAGE.read_text())]
    of_the_engine = [(one.name, one.says) for one in engine.INVARIANTS]

    assert rows[: len(of_the_engine)] == of_the_engine
    assert [name for name, _ in rows[len(of_the_engine) :]] == list(shop.NAMES)


def test_every_rule_an_invariant_names_is_explained():
    text = PAGE.read_text()
    named = {rule for *_, rules in ROW.findall(text) for rule in rules.split(", ")}

    assert named <= set(re.findall(r"^\| (I\d+) \|", text, re.MULTILINE))
