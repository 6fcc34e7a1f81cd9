"""`python -m tests.chaos.figures FILE...`: what runs came to, as a page of the proofs.

Each file is what a run printed; its last line is its verdict.  Verdicts are added to the record
beside the page, and the page is written from the record: every run is a row, and nothing is
left out, a missed bound least of all.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.chaos.scenarios import SCENARIOS
from tests.chaos.system import ROOT

PATH = ROOT / "proofs/chaos-figures.md"
RECORD = PATH.with_suffix(".jsonl")
#: What is kept of a verdict, beside the day of its run.
KEPT = (
    *("scenario", "pair", "seed", "accepted", "strikes", "lost", "duplicate_effects"),
    *("violations", "bounds", "failings", "gaps"),
)

_HEAD = """\
# Chaos in figures

Written by `python -m tests.chaos.figures` from what [chaos runs](run-chaos.md) \
printed; do not edit it.

Runs of {first} to {last}, on two cores that did other work beside them at times.
*Lost*, *twice* and *violations* are promises: any number but 0 is a fault.
A bound is a time or a share, as [the scenarios](run-chaos.md#the-scenarios) have it.

{runs} runs, {accepted} orders accepted, {strikes} strikes: {lost} lost, {twice} effects twice, \
{violations} violations; {missed} bounds missed.

| scenario | on | seed | orders | strikes | lost | twice | violations | bound |
|---|---|---|---|---|---|---|---|---|
"""

Verdict = Mapping[str, Any]


def text(verdicts: Sequence[Verdict]) -> str:
    """Return the page."""
    days = sorted(one["day"] for one in verdicts)
    total: Counter[str] = Counter()
    for one in verdicts:
        total["accepted"] += one.get("accepted", 0)
        total["strikes"] += sum(one.get("strikes", {}).values())
        total["lost"] += one.get("lost", 0)
        total["twice"] += one.get("duplicate_effects", 0)
        total["violations"] += one.get("violations", 0)
        total["missed"] += sum(not bound.startswith("held") for bound in one["bounds"])
    names = ("accepted", "strikes", "lost", "twice", "violations", "missed")
    head = _HEAD.format(
        first=days[0], last=days[-1], runs=len(verdicts), **{name: total[name] for name in names}
    )
    order = list(SCENARIOS)
    ordered = sorted(
        verdicts, key=lambda one: (order.index(one["scenario"]), one["pair"], one["seed"])
    )
    return head + "\n".join(_row(one) for one in ordered) + "\n"


def _row(one: Verdict) -> str:
    # A scenario without orders of its own has a bound alone.
    counts = [one.get(name, "") for name in ("lost", "duplicate_effects", "violations")]
    strikes = sum(one["strikes"].values()) if "strikes" in one else ""
    others = [failing for failing in one["failings"] if failing not in one["bounds"]]
    told = "<br>".join(_cell(line) for line in (*one["bounds"], *others, *one["gaps"]))
    cells = [one["scenario"], _pair(one["pair"]), one["seed"], one.get("accepted", ""), strikes]
    return "| " + " | ".join(str(cell) for cell in (*cells, *counts, told)) + " |"


def _pair(pair: str) -> str:
    names = {"postgresql": "PostgreSQL", "sqlite": "SQLite", "rabbitmq": "RabbitMQ"}
    names |= {"redis": "Redis", "filesystem": "files"}
    return ", ".join(names[part] for part in pair.split("+"))


def _cell(line: str) -> str:
    word, _, rest = line.partition(": ")
    said = f"**{word}**: {rest}" if word == "MISSED" else rest or line
    return said.replace("|", "\\|")


def read(paths: Iterable[Path]) -> list[Verdict]:
    """Return the verdicts of runs that came to one, each with the day of its end."""
    found = []
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines()
        if lines and lines[-1].startswith("{"):
            verdict = json.loads(lines[-1])
            day = datetime.fromtimestamp(path.stat().st_mtime, UTC).date()
            found.append(
                {
                    "day": day.isoformat(),
                    **{name: verdict[name] for name in KEPT if name in verdict},
                }
            )
        else:
            print(f"{path}: no verdict", file=sys.stderr)
    return found


def recorded(record: Path) -> list[Verdict]:
    """Return the verdicts of a record; none where there is no record yet."""
    if not record.exists():
        return []
    return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]


def main(words: Sequence[str], record: Path = RECORD, page: Path = PATH) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.figures",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__,
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    files = parser.parse_args(words).files
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        parser.error(f"FILE must be what a run printed, got {missing[0]}, which is not there.")
    found = read(files)
    known = recorded(record)
    new = [one for one in found if one not in known]
    if not known and not new:
        print("Give the files that chaos runs printed into.", file=sys.stderr)
        return 2
    verdicts = known + new
    lines = "".join(json.dumps(one) + "\n" for one in verdicts)
    record.write_text(lines, encoding="utf-8")
    page.write_text(text(verdicts), encoding="utf-8")
    print(f"{len(new)} new runs, {len(verdicts)} in all, in {page.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
