"""What a long run says meanwhile, and of which its summary is made: lines of JSON in a file."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Names the file; unset, nothing is written.
VARIABLE = "CRASHES_REPORT"
#: A line of progress each so many crashes.
EVERY = 50


@dataclass(frozen=True, slots=True)
class Report:
    path: Path | None

    @classmethod
    def of_environment(cls) -> "Report":
        name = os.environ.get(VARIABLE)
        return cls(Path(name) if name else None)

    def progress(self, scenario: str, done: int, total: int) -> None:
        if done % EVERY == 0:
            self._write({"scenario": scenario, "done": done, "of": total})

    def done(self, scenario: str, points: set[str], crashes: int, seconds: float) -> None:
        self._write(
            {
                "scenario": scenario,
                "points": sorted(points),
                "crashes": crashes,
                "seconds": round(seconds, 1),
            }
        )

    def _write(self, line: dict[str, Any]) -> None:
        if self.path is not None:
            # One write each: several test processes append to the same file.
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")
