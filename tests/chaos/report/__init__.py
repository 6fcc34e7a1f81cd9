"""What is left of a run: its data, and a page that shows them.

- ``data.py`` (all of it as JSON), ``page.py`` (the page), ``style.py`` (its looks)
- ``timeline.py`` (faults and lanes over time), ``charts.py`` (orders, memory, connections)
"""

import json
from pathlib import Path

from tests.chaos.report import data, page
from tests.chaos.run import Outcome
from tests.chaos.scenarios.bound import Bound


def write(
    folder: Path, title: str, outcome: Outcome, bounds: list[Bound], failings: list[str]
) -> None:
    """Write ``report.json`` and ``report.html`` into a folder; make it where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    found = data.collect(title, outcome, bounds, failings)
    (folder / "report.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (folder / "report.html").write_text(page.render(found), encoding="utf-8")
