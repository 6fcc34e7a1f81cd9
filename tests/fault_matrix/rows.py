"""The faults that the system promises to survive, and what is to be seen of each: rows.toml."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    id: str
    fault: str
    expected: str


ROWS = tuple(
    Row(id, **texts)
    for id, texts in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items()
)
