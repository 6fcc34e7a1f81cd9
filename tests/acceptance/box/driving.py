"""A system whose processes know the box: submits its workflows and reads its rows."""

import json
from pathlib import Path
from typing import Any

from tests.acceptance.system import System

SUBMIT = """
import json
from workers.client.submission import submit
print(json.dumps([submit({workflow!r}, subject=f"{prefix} {{n}}", input={given!r}).pk
                  for n in range({count})]))
"""
ROWS = """
import json
from workers.models import Journal, Step
names = ("id", "process_id", "name", "agent", "state", "attempt", "failure_count", "is_in_doubt",
         "may_have_effect", "locked_by")
rows = Step.objects.order_by("id").values_list(*names)
print(json.dumps([dict(zip(names, row)) for row in rows]))
print(json.dumps(list(Journal.objects.order_by("id").values_list("step_id", "event"))))
"""


class BoxSystem(System):
    def __init__(self, folder: Path, **environment: str) -> None:
        environment = {"DJANGO_SETTINGS_MODULE": "tests.acceptance.settings", **environment}
        super().__init__(folder, **environment)

    def submit(self, workflow: str, count: int = 1, **given: Any) -> list[int]:
        source = SUBMIT.format(workflow=workflow, prefix=workflow, given=given, count=count)
        found: list[int] = json.loads(self.python(source))
        return found

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.python(ROWS).splitlines()[0])
        return found

    def events(self) -> list[str]:
        return [event for _, event in json.loads(self.python(ROWS).splitlines()[1])]

    def history(self, name: str) -> list[str]:
        """Return the events of the steps of that name, in order."""
        lines = self.python(ROWS).splitlines()
        ids = {row["id"] for row in json.loads(lines[0]) if row["name"] == name}
        return [event for step_id, event in json.loads(lines[1]) if step_id in ids]

    def calls(self) -> list[list[str]]:
        """Return agent, attempt, time, key and process id of every call begun, in order."""
        log = self.folder / "calls.log"
        return [line.split() for line in log.read_text().splitlines()] if log.exists() else []

    def worker(self, name: str, *options: str) -> None:
        words = ("-m", "celery", "-A", "sasproject", "worker", "-l", "INFO", "-n", f"{name}@%h")
        self.start(name, *words, *options)

    def beat(self) -> None:
        self.start("beat", "-m", "celery", "-A", "sasproject", "beat", "--pidfile=")
