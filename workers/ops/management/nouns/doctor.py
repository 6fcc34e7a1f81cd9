"""Examines an installation and says what is wrong, why it matters and what to do."""

import argparse
import json
import os
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError

from workers.management.terminal import TerminalCommand
from workers.management.wording import counted
from workers.ops import doctor
from workers.ops.doctor import Level, ProbeFinding

COLOURS = {Level.OK: "32", Level.INFO: "36", Level.WARNING: "33", Level.ERROR: "31"}
FAIL_LEVELS = (Level.WARNING, Level.ERROR)


class Command(TerminalCommand):
    help = (
        "Looks at database, broker, workers, periodic duties, agents, backlog, tables and "
        "settings, and says of each finding why it matters and what to do. Changes nothing. "
        "Exit 1 where an error was found, or a warning with --fail-level warning."
    )
    # Their errors are reported with the rest, instead of ending the command.
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", dest="as_json", action="store_true", help="one JSON object")
        parser.add_argument(
            "--fail-level",
            choices=[str(level) for level in FAIL_LEVELS],
            default=str(Level.ERROR),
            help="exit 1 from this level on; default error",
        )
        parser.add_argument(
            "--only", action="append", metavar="GROUP", help="only this group; may be repeated"
        )
        parser.add_argument("--quiet", action="store_true", help="only findings that need action")

    def handle(
        self, *, as_json: bool, fail_level: str, only: list[str] | None, quiet: bool, **_: Any
    ) -> None:
        probes = doctor.probes()
        groups = list(dict.fromkeys(probe.group for probe in probes))
        if unknown := sorted(set(only or ()) - set(groups)):
            raise CommandError(f"There is no group {unknown[0]!r}. Groups: {', '.join(groups)}.")
        rows: list[ProbeFinding] = []
        for row in doctor.examine(probe for probe in probes if only is None or probe.group in only):
            if not quiet or row.finding.level.rank >= Level.WARNING.rank:
                if not as_json:
                    self._print(row, is_first=not rows or rows[-1].group != row.group)
                rows.append(row)
        if as_json:
            self._print_json(rows)
        else:
            self.stdout.write(_summary(rows))
        if doctor.worst(rows).rank >= Level(fail_level).rank:
            raise SystemExit(1)

    def _print(self, row: ProbeFinding, *, is_first: bool) -> None:
        if is_first:
            self.stdout.write(row.group)
        finding = row.finding
        words = finding.in_words()
        self.stdout.write("  ", ending="")
        self.stdout.write(f"{finding.level:7}", self._colour(finding.level), ending="")
        self.stdout.write(f" {words['what']}")
        for label, text in (("why", words["why"]), ("do", words["remedy"])):
            if text and finding.level.rank > Level.OK.rank:
                self.stdout.write(f"  {'':7} {label}: {text}")

    def _colour(self, level: Level) -> Callable[[str], str] | None:
        # https://no-color.org: set and not empty.
        if os.environ.get("NO_COLOR") or not self.stdout.isatty():
            return None
        return lambda word: f"\x1b[{COLOURS[level]}m{word}\x1b[0m"

    def _print_json(self, rows: list[ProbeFinding]) -> None:
        findings = [
            {"group": row.group, "probe": row.probe, **row.finding.in_words()} for row in rows
        ]
        facts = {"worst": doctor.worst(rows), **_counts(rows), "findings": findings}
        self.stdout.write(json.dumps(facts, ensure_ascii=False))


def _counts(rows: list[ProbeFinding]) -> dict[str, int]:
    levels = [row.finding.level for row in rows]
    return {"errors": levels.count(Level.ERROR), "warnings": levels.count(Level.WARNING)}


def _summary(rows: list[ProbeFinding]) -> str:
    counts = _counts(rows)
    return f"{counted(counts['errors'], 'error')}, {counted(counts['warnings'], 'warning')}."
