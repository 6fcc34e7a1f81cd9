"""Lists the open incidents: one for each cause."""

import argparse
import json
from typing import Any

from django.core.management.base import CommandError

from workers.desk.admin import hand_over as sheets
from workers.desk.admin.hand_over import LONGEST_HOURS, SHIFT_HOURS
from workers.desk.operate import incident_list
from workers.desk.operate.incident_list import IncidentLine
from workers.management.terminal import TerminalCommand
from workers.management.wording import counted


class Command(TerminalCommand):
    help = (
        "Lists the open incidents, the gravest first: what broke, how many, since when, what next."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", dest="as_json", action="store_true", help="one JSON object")
        parser.add_argument(
            "--hand-over", action="store_true", help="what the next person on duty must know"
        )
        parser.add_argument(
            "--hours", type=int, default=SHIFT_HOURS, help="hand-over: notes of the last hours"
        )

    def handle(self, *, as_json: bool, hand_over: bool, hours: int, **_: Any) -> None:
        if hand_over:
            if not 1 <= hours <= LONGEST_HOURS:
                raise CommandError(f"--hours must be 1 to {LONGEST_HOURS}, got {hours}.")
            for text in sheets.text(sheets.read(hours)).splitlines():
                self.stdout.write(text)
            return
        lines = incident_list.read().lines
        if as_json:
            facts = {"incidents": [_facts(line) for line in lines]}
            self.stdout.write(json.dumps(facts, ensure_ascii=False))
            return
        for line in lines:
            row = line.incident
            self.stdout.write(
                f"{row.key}  {row.state}  since {row.opened_at:%Y-%m-%d %H:%M:%S} UTC"
            )
            self.stdout.write(f"  {line.title}")
            if line.message:
                self.stdout.write(f"  {line.message}")
            worth = "" if row.money is None else f", worth {row.money:,.2f}"
            owner = f", {row.assignee}" if row.assignee else ""
            self.stdout.write(f"  members: {row.members}{worth}{owner}; next: {line.next_act}")
        self.stdout.write(counted(len(lines), "incident") + ".")


def _facts(line: IncidentLine) -> dict[str, Any]:
    row = line.incident
    return {
        "key": row.key,
        "kind": row.kind,
        "title": line.title,
        "message": line.message or None,
        "state": row.state,
        "members": row.members,
        "since": row.opened_at.isoformat(),
        "next": line.next_act,
    }
