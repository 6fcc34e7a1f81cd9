"""A guard of the product, and what it looks like when somebody has taken it away.

Guards are written in the TOML files beside this one, each under its name.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.programs import ROOT

POSTGRESQL = "PostgreSQL"
SQLITE = "SQLite"


@dataclass(frozen=True)
class Mutant:
    """Replace ``old``, which the file has once, by ``new``: then one of ``tests`` goes red."""

    guard: str
    #: The file, from the root of the repository.
    file: str
    old: str
    new: str
    #: What cannot happen as long as the guard is there.
    prevents: str
    #: Paths for pytest, those that are quickest red first.
    tests: tuple[str, ...]
    on: str = SQLITE

    def count(self, root: Path = ROOT) -> int:
        """Return how often the file has the text; anything but 1 is no mutant."""
        return (root / self.file).read_text().count(self.old)

    def applied(self, text: str) -> str:
        """Return the file's text without the guard."""
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.guard}: {self.file} has its text {text.count(self.old)} times, not once. "
                "Give the text that is there now."
            )
        return text.replace(self.old, self.new)


MUTANTS = tuple(
    Mutant(guard, **{**fields, "tests": tuple(fields["tests"])})
    for path in sorted(Path(__file__).parent.glob("*.toml"))
    for guard, fields in tomllib.loads(path.read_text()).items()
)
