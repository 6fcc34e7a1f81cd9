"""List sinks, and have status messages delivered to them again."""

import argparse
import json
from typing import Any

from django.core.management.base import CommandError
from django.db.models import QuerySet

from workers.client.operations import redeliver
from workers.definitions import delivery_problems
from workers.management.terminal import TerminalCommand, actor
from workers.management.wording import counted
from workers.models import Sink

STATES = ("open", "ended", "undeliverable")
COLUMNS = (
    *("id", "process__subject", "kind", "address", "owner", "state", "cursor", "last", "tries"),
    *("next_try_at", "problem", "last_error"),
)


class Command(TerminalCommand):
    help = "Lists the reply queues and webhooks that are told of processes; has them told again."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="list sinks in trouble, or those in --state")
        listing.add_argument("--json", dest="as_json", action="store_true")
        listing.add_argument("--limit", type=int, default=100, help="rows at most, the newest")
        retry = actions.add_parser("retry", help="deliver again at once, with all tries")
        retry.add_argument("ids", nargs="*", type=int, metavar="ID")
        retry.add_argument(
            "--from",
            dest="first",
            type=int,
            help="from this sequence number on, even if it was told; needs IDs",
        )
        for action in (listing, retry):
            action.add_argument("--owner", help="of this owner only, such as client:acme")
        listing.add_argument("--state", choices=STATES)

    def handle(self, *, action: str, **options: Any) -> None:
        getattr(self, f"_{action}")(**options)

    def _list(
        self, *, owner: str | None, state: str | None, as_json: bool, limit: int, **_: Any
    ) -> None:
        sinks = Sink.objects.filter(state=state) if state else _in_trouble()
        if owner is not None:
            sinks = sinks.filter(owner=owner)
        rows = list(sinks.order_by("-pk").values(*COLUMNS)[:limit])
        for row in rows:
            row["last_error"] = delivery_problems.last_failure(row["problem"], row["last_error"])
        if as_json:
            self.stdout.write(json.dumps(rows, default=str, ensure_ascii=False))
            return
        for row in rows:
            self.stdout.write(
                f"{row['id']:<8}{row['state']:<14}{row['process__subject']}  {row['kind']}"
                f" {row['address'].partition('?')[0]}  told {row['cursor']} of {row['last']},"
                f" {row['tries']} tries  {row['last_error']}"
            )
        self.stdout.write(counted(len(rows), "sink") + ".")

    def _retry(self, *, ids: list[int], owner: str | None, first: int | None, **_: Any) -> None:
        if first is not None and (not ids or first < 1):
            raise CommandError("--from is 1 or more, and goes with the IDs of sinks.")
        if not ids and owner is None:
            raise CommandError("Say which: IDs, or --owner for all of an owner's in trouble.")
        sinks = Sink.objects.filter(pk__in=ids) if ids else _in_trouble()
        if owner is not None:
            sinks = sinks.filter(owner=owner)
        if ids and (missing := set(ids) - set(sinks.values_list("pk", flat=True))):
            raise CommandError(f"There is no such sink: {', '.join(map(str, sorted(missing)))}.")
        after = None if first is None else first - 1
        redelivered = [
            pk
            for pk in sinks.values_list("pk", flat=True)
            if redeliver(pk, actor=actor(), after=after)
        ]
        self.stdout.write(f"{counted(len(redelivered), 'sink')} told again.")


def _in_trouble() -> QuerySet[Sink]:
    return Sink.objects.filter(state="undeliverable") | Sink.objects.filter(
        state="open", tries__gt=0
    )
