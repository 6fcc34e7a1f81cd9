"""One run: measures contenders round by round, and remembers every figure and every failure."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import figures, servers
from benchmarks.contenders import CONTENDERS, PEERS
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.measuring import Failed, measure
from benchmarks.options import Options

Found = dict[str, Any]


def say(text: str) -> None:
    """Report progress: plain lines, without colours."""
    print(text, file=sys.stderr, flush=True)


@dataclass
class Bench:
    options: Options
    #: Every measurement in the order in which it was made.
    raw: list[dict[str, Any]] = field(default_factory=list)
    #: Contender and case -> why it has no figure.
    missing: dict[str, str] = field(default_factory=dict)
    #: What was not done, or not done right: the run has failed.
    wrong: list[str] = field(default_factory=list)
    #: What a reader of the table must know beside it.
    notes: list[str] = field(default_factory=list)
    #: Database -> what new ones are copied from.
    templates: dict[str, Any] = field(default_factory=dict)

    def rounds(
        self, case: str, wanted: Mapping[str, Sequence[str]], rounds: int | None = None, **how: Any
    ) -> list[dict[str, Found | None]]:
        """Measure each of ``wanted`` (contender -> words) in turn, and all of them again.

        Who has failed once is left out from then on.
        """
        left_out = set(PEERS) - set(self.options.peers)
        kept = {name: words for name, words in wanted.items() if name not in left_out}
        found: list[dict[str, Found | None]] = []
        for number in range(1, (rounds or self.options.rounds) + 1):
            say(f"{case}: round {number}")
            found.append(
                {name: self.once(case, name, words, number, **how) for name, words in kept.items()}
            )
        return found

    def once(
        self, case: str, name: str, words: Sequence[str], number: int = 1, *,
        variables: Mapping[str, str] | None = None, contender: str | None = None,
        database: str | None = None, broker: str | None = None,
    ) -> Found | None:  # fmt: skip
        """Measure one contender once, on servers of its own; None: it has no figure."""
        label = f"{case}: {name}"
        if label in self.missing:
            return None
        who = CONTENDERS[contender or name]
        is_ours = who.module == "benchmarks.ours"
        try:
            with self._servers(
                database or self.options.database, broker or self.options.broker,
                is_ours=is_ours,
            ) as (environment, folder):  # fmt: skip
                load = os.getloadavg()[0]
                everything = {**environment, **who.environment, **(variables or {})}
                result = measure([who.module, *words], everything, folder)
        except (Unavailable, Failed, Wrong) as error:
            self.missing[label] = str(error)
            say(f"  {name}: none. {error}")
            # Others may be missing or break; what we say we did must be true of everybody.
            if isinstance(error, Wrong) or (is_ours and isinstance(error, Failed)):
                self.wrong.append(f"{label}: {error}")
            return None
        # What else the machine had to do, for whoever wonders about a figure.
        self.raw.append({"case": case, "round": number, "name": name, "load": load, **result})
        say(f"  {name}: {summary(result)}")
        return result

    @contextmanager
    def _servers(
        self, database: str, broker: str, *, is_ours: bool
    ) -> Iterator[tuple[dict[str, str], Path]]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sas-bench-")))
            if database == "postgresql":
                template = self.templates.get("postgresql") if is_ours else None
                url = stack.enter_context(servers.postgresql(template or "template1"))
            else:
                template = self.templates.get("sqlite") if is_ours else None
                url = stack.enter_context(servers.sqlite(folder, template))
            broker_url = stack.enter_context(servers.BROKERS[broker]())
            yield {"DATABASE_URL": url, "BROKER_URL": broker_url}, folder


def summary(result: Mapping[str, Any]) -> str:
    """Return the plain figures of a result in one line."""
    plain = [
        f"{name} {figures.rounded(value)}"
        for name, value in result.items()
        if isinstance(value, int | float)
    ]
    return ", ".join(plain) or "done"


def medians(rounds: Sequence[Mapping[str, Found | None]], name: str, key: str) -> float | None:
    """Return the median of a figure of one contender over the rounds that have it."""
    values = [found.get(key) for one in rounds if (found := one[name]) is not None]
    return figures.median([value for value in values if value is not None])


def rounded_all(value: Any) -> Any:
    """Return a figure, or all figures of a table or list, rounded."""
    if isinstance(value, dict):
        return {name: rounded_all(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded_all(part) for part in value]
    return figures.rounded(value) if isinstance(value, float) else value
