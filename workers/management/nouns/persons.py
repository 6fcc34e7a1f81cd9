"""Print the register of exports and erasures of persons."""

import argparse
import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from workers.management.terminal import TerminalCommand, instant, mail_address
from workers.privacy import register


class Command(TerminalCommand):
    help = (
        "Prints the register of exports and erasures of persons: when, by whom, with what result, "
        "and what is left to do. It has a digest of each address and none that can be read. Keep "
        "its output outside of the database: after a restore, what is in it and newer than the "
        "restored time has to be done again."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "email", metavar="EMAIL", nargs="?", type=mail_address, help="of this person only"
        )
        parser.add_argument("--since", type=instant, help="from this instant on")
        parser.add_argument("--limit", type=int, default=1000, help="lines at most, the newest")
        parser.add_argument("--json", dest="as_json", action="store_true")

    def handle(
        self, *, email: str | None, since: datetime | None, limit: int, as_json: bool, **_: Any
    ) -> None:
        lines = register.read(email, since, limit)
        if as_json:
            rows = [asdict(line) for line in lines]
            self.stdout.write(json.dumps(rows, default=str, ensure_ascii=False))
            return
        for line in lines:
            result = ", ".join(
                f"{name} {value}"
                for name, value in line.result.items()
                if name not in ("reason", "kept_rows")
            )
            left = "  TO DO: erase again" if line.is_open else ""
            what = line.what.removeprefix("person_")
            self.stdout.write(
                f"{line.at:%Y-%m-%d %H:%M:%S}  {what:<9} {line.person or '?':<32}  {line.actor}:"
                f" {result}{left}"
            )
            for kept in line.result.get("kept_rows") or ():
                self.stdout.write(f"    kept: {kept}")
