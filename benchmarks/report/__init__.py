"""What is left of a run: tables, a page with charts, and its data.

- ``table.py`` (rows of text), ``tables.py`` (what is shown), ``slow.py`` (of it, services that take
  seconds), ``text.py`` (the terminal's), ``page.py`` (the
  page), ``charts.py`` (SVG), ``style.py`` (its looks), ``docs.py`` (proofs/figures.md)
- ``scaling.py`` (what more load would take, calculated)
"""

import json
from pathlib import Path
from typing import Any

from benchmarks.report import page


def write(folder: Path, found: dict[str, Any]) -> None:
    """Write ``report.json`` and ``report.html`` into a folder; make it where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (folder / "report.html").write_text(page.render(found), encoding="utf-8")
