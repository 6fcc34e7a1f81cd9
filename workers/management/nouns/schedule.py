"""List and steer schedules."""

import argparse
import json
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from workers.client import schedules
from workers.exceptions import SASError
from workers.management.terminal import TerminalCommand, actor, instant
from workers.models import Schedule
from workers.runtime import timestamps

_VERBS = {
    "pause": "begin nothing until it is resumed",
    "resume": "go on; the instants of the pause do not fire",
    "run": "begin a process now",
    "skip": "leave out the next instant",
    "backfill": "begin processes for the instants of a window in the past",
}


class Command(TerminalCommand):
    help = "Shows schedules and their next instants; pauses, runs, skips and backfills one."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="every schedule")
        listing.add_argument("--json", dest="as_json", action="store_true")
        show = actions.add_parser("show", help="one schedule and its next five instants")
        show.add_argument("name")
        for verb, text in _VERBS.items():
            acting = actions.add_parser(verb, help=text)
            acting.add_argument("name")
            acting.add_argument("--reason", default="", help="kept in the journal")
            if verb == "backfill":
                acting.add_argument("--since", type=instant, required=True)
                acting.add_argument("--until", type=instant, required=True)
                acting.add_argument("--dry-run", action="store_true", help="only count them")

    def handle(self, *, action: str, **options: Any) -> None:
        try:
            if action == "list":
                self._list(as_json=options["as_json"])
            elif action == "show":
                self._show(options["name"])
            else:
                self._act(action, options)
        except SASError as refusal:
            raise CommandError(str(refusal)) from None

    def _list(self, *, as_json: bool) -> None:
        rows = Schedule.objects.all()
        if as_json:
            # Inputs may be personal.
            facts = [_facts(row) for row in rows]
            self.stdout.write(json.dumps(facts, default=str, ensure_ascii=False))
            return
        for row in rows:
            self.stdout.write(f"{row.name:<28}{row.workflow:<20}{_when(row):<28}{_standing(row)}")

    def _show(self, name: str) -> None:
        row = _row(name)
        for label, value in _facts(row).items():
            if value not in (None, ""):
                text = timestamps.full(value) if isinstance(value, datetime) else value
                self.stdout.write(f"{label}: {text}")
        for at in schedules.upcoming(row):
            self.stdout.write(f"next: {timestamps.full(at)}")

    def _act(self, action: str, options: dict[str, Any]) -> None:
        name, reason = options["name"], options["reason"].strip()
        is_dry = options.get("dry_run", False)
        if not reason and not is_dry:
            raise CommandError("Say why, with --reason: it is kept in the journal.")
        by = {"actor": actor(), "reason": reason}
        if action == "backfill":
            window = options["since"], options["until"]
            instants = (
                schedules.window(_row(name), *window)
                if is_dry
                else schedules.backfill(name, *window, **by)
            )
            verb = "would begin" if is_dry else "begins"
            self.stdout.write(
                f"The backfill of {name} {verb} {len(instants)} processes at most, from"
                f" {timestamps.full(instants[0])} to {timestamps.full(instants[-1])}."
            )
            return
        if action == "run":
            self.stdout.write(f"{name} began process {schedules.run(name, **by).pk}.")
        elif action == "skip":
            self.stdout.write(f"{name} leaves out {timestamps.full(schedules.skip(name, **by))}.")
        elif action == "pause":
            schedules.pause(name, **by)
            self.stdout.write(f"{name} is paused.")
        else:
            schedules.resume(name, **by)
            self.stdout.write(f"{name} is resumed.")


def _row(name: str) -> Schedule:
    row = Schedule.objects.filter(name=name).first()
    if row is None:
        raise CommandError(f"There is no schedule {name!r}. `sas schedule list` names them.")
    return row


def _when(row: Schedule) -> str:
    return f"{row.cron} {row.time_zone}" if row.cron else f"every {row.every_seconds} s"


def _standing(row: Schedule) -> str:
    if row.paused_at is not None:
        return "paused"
    return f"cannot fire: {row.problem}" if row.problem else f"next {timestamps.full(row.next_at)}"


def _facts(row: Schedule) -> dict[str, Any]:
    return {
        "name": row.name,
        "workflow": row.workflow,
        "when": _when(row),
        "made": "in code" if row.is_declared else "at run time",
        "overlap": row.overlap,
        "catch_up_seconds": row.catch_up_seconds,
        "state": _standing(row),
        "next_at": row.next_at,
        "paused_at": row.paused_at,
        "last_at": row.last_at,
        "last_process": row.last_process,
        "missed": row.missed,
        "skipped": row.skipped,
        "backfill_until": row.backfill_until,
    }
